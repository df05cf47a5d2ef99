/** A site or sensor code as one MQTT topic level: `+ # /` and control characters become `_` (contract 6). */
export function topicLevel(text: string): string {
  return text.replace(/[+#/\p{Cc}]/gu, "_");
}

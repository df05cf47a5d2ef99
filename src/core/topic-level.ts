/** `+ # /`, control characters, and halves of surrogate pairs, which have no UTF-8 form. */
const UNSAFE = /[+#/]|\p{Control}|\p{Surrogate}/gu;

/** A site or sensor code as one MQTT topic level (contract section 6). */
export function topicLevel(text: string): string {
  return text.replace(UNSAFE, "_");
}

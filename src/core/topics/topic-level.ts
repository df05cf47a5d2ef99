/** `+ # /`, control characters, and halves of surrogate pairs, which have no UTF-8 form. */
const UNSAFE = /[+#/]|\p{Control}|\p{Surrogate}/gu;
/** Nearly every code and name: three of them are looked at for each message. */
const PLAIN = /^[\w. -]*$/;

/** A site or sensor code as one MQTT topic level (contract section 6). */
export function topicLevel(text: string): string {
  return PLAIN.test(text) ? text : text.replace(UNSAFE, "_");
}

/** Topics of Sparkplug and of the broker itself: an answer there would be taken for theirs. */
const RESERVED = /^(spBv1\.0\/|STATE\/|\$)/;

/**
 * Where an answer goes: where the request asked, if that is a topic to publish on, outside everything that this agent publishes, and
 * below COMMAND_RESPONSE_PREFIX where one is set. Else beside the command.
 */
export function replyTopic(
  { topic, responseTopic }: { readonly topic: string; readonly responseTopic?: string },
  prefix: string | null,
): string {
  const beside = `${topic}/result`;
  if (!responseTopic || /[+#\0]/.test(responseTopic) || RESERVED.test(responseTopic)) return beside;
  // …/{site}/agent/cmd/saveSettings: all below the site is the agent's own.
  const own = topic.replace(/agent\/cmd\/[^/]*$/, "");
  if (own !== "" && responseTopic.startsWith(own)) return beside;
  if (responseTopic === topic) return beside;
  if (prefix === null) return responseTopic;
  const root = prefix.replace(/\/+$/, "");
  return responseTopic === root || responseTopic.startsWith(`${root}/`) ? responseTopic : beside;
}

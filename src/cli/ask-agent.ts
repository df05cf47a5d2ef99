/** One question to an agent, by its address or by its socket. */
import { type IncomingMessage, request } from "node:http";
import { text as textOf } from "node:stream/consumers";

export interface Question {
  readonly headers: Readonly<Record<string, string>>;
  /** Null asks with GET. */
  readonly content: string | null;
  readonly signal: AbortSignal;
}

export interface Answer {
  readonly status: number;
  readonly statusText: string;
  readonly text: string;
}

/** Rejects where no answer comes. */
export async function askAddress(url: string, question: Question): Promise<Answer> {
  const { headers, content, signal } = question;
  const response = await fetch(url, {
    method: content === null ? "GET" : "POST",
    headers: { ...headers },
    body: content,
    redirect: "error",
    signal,
  });
  const { status, statusText } = response;
  return { status, statusText, text: await response.text() };
}

/** Null where no agent listens there, or this user may not ask it. Rejects where one does and gives no answer. */
export async function askSocket(
  socketPath: string,
  path: string,
  { headers, content, signal }: Question,
): Promise<Answer | null> {
  const response = await new Promise<IncomingMessage | null>((resolve, reject) => {
    const asked = request(
      {
        socketPath,
        path,
        method: content === null ? "GET" : "POST",
        headers: { ...headers, host: "localhost" },
        agent: false,
        signal,
      },
      resolve,
    );
    let isConnected = false;
    asked.once("socket", (socket) => {
      socket.once("connect", () => {
        isConnected = true;
      });
    });
    asked.once("error", (error) => {
      if (isConnected || signal.aborted) reject(error);
      else resolve(null);
    });
    asked.end(content ?? undefined);
  });
  if (response === null) return null;
  const { statusCode: status = 500, statusMessage: statusText = "" } = response;
  return { status, statusText, text: await textOf(response) };
}

/**
 * Why a request got no response, in words: the browser's own ("Failed to fetch") differ by browser and say neither what
 * failed nor what to do. Any other error is returned as it is.
 */
export function noResponse(error: unknown): unknown {
  // While a body is read, some browsers tell of the same limit as if somebody had aborted it; who did is not told of it.
  if (error instanceof DOMException && /^(Timeout|Abort)Error$/.test(error.name))
    return new Error("the agent did not respond in time. It may be busy; try again.", {
      cause: error,
    });
  // What fetch rejects with if there is no connection, or if it is lost during the response.
  if (error instanceof TypeError)
    return new Error(
      "the agent cannot be reached. Check that it is running and that this computer is connected to its network.",
      { cause: error },
    );
  return error;
}

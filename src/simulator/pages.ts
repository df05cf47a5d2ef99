/** The HTML pages returned instead of data. */
export function page(title: string, text: string): string {
  return `<?xml version="1.0" encoding="utf-8"?>\r\n<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd">\r\n<html xmlns="http://www.w3.org/1999/xhtml"><head><title>${title}</title></head><body><div id="content"><p class="heading1">${title}</p><p>${text}</p></div></body></html>`;
}

export const LOGIN_PAGE =
  '<!DOCTYPE html><html><head><title>Sign in</title></head><body><form method="post" action="/login"><input name="user"><input name="password" type="password"><button>Sign in</button></form></body></html>';
export const NOT_FOUND_PAGE = page("Service", "Endpoint not found.");
export const METHOD_PAGE = page("Service", "Method not allowed.");
export const REQUEST_ERROR_PAGE = page(
  "Request Error",
  "The server encountered an error processing the request. See server logs for more details.",
);

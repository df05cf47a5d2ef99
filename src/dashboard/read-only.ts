/** Shown instead of what HTTP_VIEW_TOKEN does not allow. */
export const READ_ONLY =
  "You signed in with the read-only token. To make changes, sign out and sign in with HTTP_TOKEN.";

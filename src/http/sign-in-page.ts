/** The sign-in page, without script: it works before anything else is served. `message` is our own text. */
export function signInPage(message: string): string {
  const alert = message === "" ? "" : `<p role="alert">${message}</p>`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Gateside – sign in</title>
<link rel="icon" href="favicon.svg" type="image/svg+xml">
<link rel="stylesheet" href="sign-in.css">
</head>
<body>
<main>
<h1>Gateside</h1>
<form method="post">
${alert}<label for="token">Access token</label>
<input id="token" name="token" type="password" autocomplete="current-password" required autofocus>
<button type="submit">Sign in</button>
</form>
<p><a href="manual/">Manual</a></p>
</main>
</body>
</html>
`;
}

/** For people who followed a link that leads nowhere. @param base where our pages begin */
export function notFoundPage(base: string): string {
  const root = base.replaceAll(/[^\w./~%-]/g, "");
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Gateside – no such page</title>
<link rel="stylesheet" href="${root}sign-in.css">
</head>
<body>
<main>
<h1>There is no such page</h1>
<p>The address may be mistyped, or be of another version.</p>
<p><a href="${root}">Go to the machines</a></p>
</main>
</body>
</html>
`;
}

export const SIGN_IN_CSS = `:root{color-scheme:light dark;--page:#fff;--ink:#14181d;--edge:#5b6673;--act:#0b5cad;--act-ink:#fff;--bad:#a4161a}
@media (prefers-color-scheme:dark){:root{--page:#101418;--ink:#eef2f6;--edge:#93a1b0;--act:#7db8ff;--act-ink:#06121f;--bad:#ff9b9b}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);font:18px/1.5 system-ui,sans-serif}
main{max-width:24rem;margin:12vh auto;padding:0 1rem}
label,input,button{display:block;width:100%;font:inherit}
input{margin:.25rem 0 1rem;padding:.6rem;background:var(--page);color:var(--ink);border:2px solid var(--edge);border-radius:6px}
button{padding:.7rem;background:var(--act);color:var(--act-ink);border:0;border-radius:6px;cursor:pointer}
:focus-visible{outline:3px solid var(--act);outline-offset:2px}
[role=alert]{color:var(--bad);font-weight:600}
`;

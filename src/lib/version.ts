import { version } from "../../package.json";

/** Version of the program; the bundler keeps nothing else of package.json. */
export const VERSION: string = version;

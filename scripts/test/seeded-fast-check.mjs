/**
 * Property tests explore anew with each run on a developer's machine. CI runs the same examples each time, so that a change is judged by
 * itself and not by what chance finds that day.
 */
import fc from "fast-check";

const CI_SEED = 20_261_122;

if (process.env.CI === "true") fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: CI_SEED });

export * from "fast-check";
export default fc;

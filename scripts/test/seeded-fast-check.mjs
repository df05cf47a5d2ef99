/**
 * On a developer's machine, property tests try new examples with each run. CI runs the same examples each time, so that a
 * result depends on the change alone and not on chance.
 */
import fc from "fast-check";

const CI_SEED = 20_261_122;

if (process.env.CI === "true") fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: CI_SEED });

export * from "fast-check";
export default fc;

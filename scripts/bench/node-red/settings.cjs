/** Node-RED as a headless baseline: no editor, no telemetry, no files besides its flow. */
module.exports = {
  uiPort: Number(process.env.BENCH_PORT),
  uiHost: "127.0.0.1",
  httpAdminRoot: false,
  disableEditor: true,
  flowFile: process.env.BENCH_FLOW,
  credentialSecret: false,
  functionExternalModules: false,
  telemetry: { enabled: false, updateNotification: false },
  contextStorage: { default: { module: "memory" } },
  logging: { console: { level: "warn", metrics: false, audit: false } },
};

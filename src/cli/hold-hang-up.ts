/**
 * Until the program listens, SIGHUP would end it. It needs no other response yet: what it asks for, reading the
 * configuration, is still to come.
 */
process.on("SIGHUP", () => {});

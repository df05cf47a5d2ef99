/** Members of UPLINKS_FILE, by the equivalent settings of `main`. */
const UPLINK_MEMBERS: Readonly<Record<string, string>> = {
  MQTT_URL: "url",
  MQTT_VERSION: "version",
  MQTT_CLIENT_ID: "clientId",
  MQTT_USERNAME: "username",
  MQTT_PASSWORD: "passwordFile",
  MQTT_CA_FILE: "caFile",
  MQTT_CERT_FILE: "certFile",
  MQTT_KEY_FILE: "keyFile",
  MQTT_TOPIC_PREFIX: "topicPrefix",
  MQTT_USERNAME_FILE: "usernameFile",
  MQTT_PASSWORD_FILE: "passwordFile",
  MQTT_PROXY: "proxy",
  MQTT_PROXY_FILE: "proxyAuthFile",
  MQTT_SAS_KEY_FILE: "sasKeyFile",
  MQTT_ALPN: "alpn",
};

/** The text for an uplink of UPLINKS_FILE: it names that file's members instead of the settings of `main`. */
export function inUplinkWords(text: string, uplink: string): string {
  const words = text.replace(/\bMQTT_[A-Z_]+\b/g, (setting) => {
    const member = UPLINK_MEMBERS[setting];
    return member === undefined ? setting : `"${member}"`;
  });
  return words === text ? text : `${words} (uplink ${uplink} in UPLINKS_FILE)`;
}

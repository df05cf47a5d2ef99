/** The settings of `gateside collect`, checked by config/collect-settings.ts. */
export interface CollectOptions {
  /** Addresses of one broker cluster, tried in turn; all mqtt(s) or all amqp(s). May contain user name and password. */
  readonly from: readonly string[];
  /** postgres://…; sslmode and sslrootcert have libpq's meaning. */
  readonly to: string;
  /** Collectors of one group share the messages; another group gets all of them again. */
  readonly group: string;
  /** First level(s) of the boxes' topics. */
  readonly prefix: string;
  /** Where the site stands in a topic: `{prefix}/{site}/#`, or another pattern that ends with `/#`. */
  readonly topic: string;
  /** The address of the metrics; null = none. */
  readonly metrics: { readonly host: string; readonly port: number } | null;
  /** Readings older than this are dropped, days; null keeps all. */
  readonly keepDays: number | null;
  /** Hourly values older than this are dropped by whole months, days. */
  readonly keepHoursDays: number;
  /** RECONNECT_SPREAD_S of a broker cluster, s. */
  readonly reconnectSpreadS: number;
  /** PEM texts for mqtts and amqps. */
  readonly tls: BrokerTls;
}

export interface BrokerTls {
  readonly ca: string | null;
  readonly cert: string | null;
  readonly key: string | null;
}

import assert from "node:assert/strict";
import { test } from "node:test";
import { brokerText, unreachedText } from "../../src/collect/unreached.ts";

test("unreached – a certificate that is not trusted names the setting, a refusal the script that gives rights, a wrong address what in it", () => {
  for (const text of ["self-signed certificate", "unable to verify the first certificate"]) {
    assert.match(brokerText(text), /^.*certificate: set COLLECT_CA_FILE /);
    assert.match(unreachedText(new Error(text), "the database"), /sslrootcert=FILE/);
  }
  for (const text of ['database "gatesid" does not exist', 'role "graphana" does not exist'])
    assert.match(unreachedText(new Error(text), "the database"), /: check user, password and data/);
  for (const text of [
    "the broker refuses $share/gateside/north/# (reason code 135)",
    "Channel closed by server: 403 (ACCESS-REFUSED) with message \"ACCESS_REFUSED - access to topic 'north.#' in exchange 'amq.topic' refused\"",
  ])
    assert.match(brokerText(text), /rights\.sh --reader USER PREFIX/);
  const login =
    'Handshake terminated by server: 403 (ACCESS-REFUSED) with message "ACCESS_REFUSED - Login was refused"';
  assert.equal(brokerText(login), login);
});

import { UnitOfWork } from "../../src/core/tx.ts";

/** Transactions one after the other, of which `now` is the running one. */
export class Transactions {
  now = new UnitOfWork();

  commit(): void {
    const over = this.now;
    this.now = new UnitOfWork();
    over.committed();
  }

  rollBack(): void {
    const over = this.now;
    this.now = new UnitOfWork();
    over.rolledBack();
  }
}

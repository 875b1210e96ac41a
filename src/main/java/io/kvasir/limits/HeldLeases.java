package io.kvasir.limits;

/**
 * The leases of an account as they were when a request was admitted: what was taken from one is given back to the same
 * one, whatever the limits are by then.
 *
 * @param leases not to be changed
 */
record HeldLeases(Account account, Lease[] leases) {
  /** Gives units back to those that count work, or to the others; below 0, takes them whether or not they are there. */
  void put(boolean work, long units) {
    putFirst(leases.length, work, units);
  }

  /** The same with the first {@code count} only. */
  void putFirst(int count, boolean work, long units) {
    for (int i = 0; i < count; i++) {
      if (leases[i].quota().dimension().countsWork() == work) {
        leases[i].put(units);
      }
    }
  }

  /** Gives back the slots. */
  void putSlots() {
    for (Lease lease : leases) {
      if (lease.quota().dimension() == Dimension.CONCURRENT) {
        lease.put(1);
      }
    }
  }

  /** Gives back the requests of rates. */
  void putRequest() {
    for (Lease lease : leases) {
      if (lease.quota().dimension() == Dimension.REQUESTS) {
        lease.put(1);
      }
    }
  }

  /** Whether a lease should be renewed. */
  boolean needRenewal() {
    for (Lease lease : leases) {
      if (lease.isLow() || lease.isExcessive()) {
        return true;
      }
    }
    return false;
  }
}

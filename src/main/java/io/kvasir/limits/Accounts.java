package io.kvasir.limits;

import io.kvasir.access.Caller;
import io.kvasir.access.Limits;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;

/** A node's accounts of the keys and tenants that it has had requests of. Thread-safe. */
final class Accounts {
  /** More than these are kept only as long as they are used: callers with tokens may have any number of ids. */
  private final int most;

  private final Duration burst;
  private final Map<String, Account> keys = new ConcurrentHashMap<>();
  private final Map<String, Account> tenants = new ConcurrentHashMap<>();

  /**
   * No accounts.
   *
   * @param burst how long a rate takes to fill its bucket
   * @param most how many keys and how many tenants are remembered while they send no requests
   */
  Accounts(Duration burst, int most) {
    this.burst = burst;
    this.most = most;
  }

  /** The accounts of a caller that have limits: of its key, of its tenant, or both in this order. */
  List<Account> of(Caller caller) {
    List<Account> accounts = new ArrayList<>(2);
    String key = caller.keyId();
    if (key != null && !caller.limits().isUnlimited()) {
      accounts.add(account(keys, Account.Holder.KEY, key, caller.tenant(), caller.limits()));
    }
    if (!caller.tenantLimits().isUnlimited()) {
      accounts.add(
          account(tenants, Account.Holder.TENANT, caller.tenant(), caller.tenant(), caller.tenantLimits()));
    }
    return accounts;
  }

  Stream<Account> all() {
    return Stream.concat(keys.values().stream(), tenants.values().stream());
  }

  /**
   * Takes note that an account holds nothing and has not been used for long: where there are many, it is forgotten.
   *
   * @return whether it is still remembered
   */
  boolean idle(Account account) {
    Map<String, Account> among = account.holder() == Account.Holder.KEY ? keys : tenants;
    if (among.size() > most) {
      among.remove(account.name(), account);
      return false;
    }
    return true;
  }

  private Account account(
      Map<String, Account> among, Account.Holder holder, String name, String tenant, Limits limits) {
    Account account = among.get(name);
    if (account == null) {
      account = among.computeIfAbsent(name, _ -> new Account(holder, name, tenant));
    }
    account.setLimits(limits, burst);
    return account;
  }
}

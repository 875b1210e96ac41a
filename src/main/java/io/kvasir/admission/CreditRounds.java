package io.kvasir.admission;

import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Fairness among parties by deficits, as in VTC (arXiv 2401.00588) and DLPM (2501.14312): a party has credit in tokens
 * and pays with it for what its requests use, also later and more than it has. The one with the most credit for its
 * weight goes first. When no party that waits has any, all get a quantum times their weight, as often as is needed.
 * Nobody has more than one quantum, so a party that comes back is ahead of the others by no more than that, and debts
 * are paid back by waiting. Not thread-safe.
 */
final class CreditRounds {
  private final int quantum;
  private long round;

  /** One that takes turns. */
  abstract static class Party {
    private int weight;
    private double credit;
    private long round;

    /** The round in which it came to have credit after it had none; before all rounds while it always had. */
    private long outOfDebt = -1;

    /** A new party of these rounds has a full credit. */
    Party(CreditRounds rounds, int weight) {
      this.weight = weight;
      this.credit = (double) rounds.quantum * weight;
      this.round = rounds.round;
    }

    int weight() {
      return weight;
    }

    /** Its weight as of now: settings change. */
    void weigh(int now) {
      weight = now;
    }
  }

  CreditRounds(int quantum) {
    this.quantum = quantum;
  }

  /** Lets a party pay; may leave it in debt. */
  void charge(Party party, double tokens) {
    credit(party);
    party.credit -= tokens;
  }

  /** Whether a party is as good as new. */
  boolean isFull(Party party) {
    return credit(party) >= (double) quantum * party.weight;
  }

  /**
   * Whether a party has used up what it got: it has no credit, or got some in this round because it had none. Of those
   * who want more than there is each is so all the time; who has a full credit and uses less than one a round never.
   */
  boolean isSpent(Party party) {
    return credit(party) <= 0 || party.outOfDebt == round;
  }

  /**
   * The first request of the party whose turn it is; null when none of them may have a turn. Where some that wait may
   * not have one now, the others go ahead in the same order, but on credit: new rounds begin only when all that wait
   * may go, since otherwise those who are held would lose their advantage.
   *
   * @param waits whether a party waits
   * @param inLine whether it waits for what the others wait for: one that does not has no advantage to lose
   * @param head the first request of a party that may have a turn, null when it has none
   */
  <P extends Party, T> @Nullable Waiting<T> next(
      Iterable<P> parties, Predicate<P> waits, Predicate<P> inLine, Function<P, @Nullable Waiting<T>> head) {
    Waiting<T> first = null;
    P richest = null;
    double most = Double.NEGATIVE_INFINITY;
    boolean held = false;
    for (P party : parties) {
      if (waits.test(party)) {
        Waiting<T> next = head.apply(party);
        double share = credit(party) / party.weight();
        held |= next == null && inLine.test(party);
        boolean ahead =
            next != null && (first == null || share > most || (share == most && next.compareTo(first) < 0));
        if (ahead) {
          first = next;
          richest = party;
          most = share;
        }
      }
    }
    if (richest != null && most <= 0 && !held) {
      round += (long) Math.floor(-most / quantum) + 1;
    }
    return first;
  }

  private double credit(Party party) {
    double each = (double) quantum * party.weight;
    if (party.credit <= 0 && round > party.round) {
      party.outOfDebt = party.round + (long) Math.floor(-party.credit / each) + 1;
    }
    party.credit = Math.min(each, party.credit + (round - party.round) * each);
    party.round = round;
    return party.credit;
  }
}

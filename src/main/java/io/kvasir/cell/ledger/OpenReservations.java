package io.kvasir.cell.ledger;

import java.util.ArrayList;
import java.util.List;

/**
 * The open reservations of a node at a cell, as it declares them to the cell's home from time to time. The home renews
 * their leases. Of the requests whose ids the declaration covers all others are over, whatever has been lost on the way
 * to the home: what is over stays so, hence a declaration that comes late is true as well.
 *
 * @param from the first request covered
 * @param below the first request beyond those covered
 * @param reservations the node's ids of the open ones, also of some that are not covered
 */
public record OpenReservations(long from, long below, List<Long> reservations) {
  /** The most reservations of one declaration: some 100 KB as a message. */
  static final int MAX = 10_000;

  /**
   * Declarations that cover all requests that have ended.
   *
   * @param reservations read after {@code below}
   */
  public static List<OpenReservations> declarations(long below, List<Long> reservations) {
    List<Long> ascending = reservations.stream().sorted().toList();
    List<OpenReservations> declarations = new ArrayList<>();
    long from = 0;
    int begin = 0;
    while (ascending.size() - begin > MAX) {
      int end = begin + MAX;
      long next = CorrelationIds.of(ascending.get(end));
      // All steps of a request are in one declaration, which covers it.
      while (CorrelationIds.of(ascending.get(end - 1)) == next) {
        end--;
      }
      declarations.add(new OpenReservations(from, Math.min(below, next), ascending.subList(begin, end)));
      from = Math.min(below, next);
      begin = end;
    }
    declarations.add(new OpenReservations(from, below, ascending.subList(begin, ascending.size())));
    return declarations;
  }

  /** Whether a reservation that is not among the open ones is over. */
  boolean covers(long reservation) {
    long request = CorrelationIds.of(reservation);
    return request >= from && request < below;
  }
}

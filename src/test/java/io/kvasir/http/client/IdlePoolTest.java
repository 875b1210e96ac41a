package io.kvasir.http.client;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

final class IdlePoolTest {
  private static final PodOrigin POD = new PodOrigin(false, "pod", 80);
  private static final PodOrigin OTHER = new PodOrigin(false, "other", 80);

  private final Set<CallConnection> suiting = new HashSet<>();
  private final IdlePool<CallConnection> pool = new IdlePool<>(2, 100, suiting::contains);

  @Test
  void theConnectionUsedLastIsTakenFirst() {
    CallConnection first = released(POD, 0);
    CallConnection second = released(POD, 1);
    assertThat(pool.acquire(POD, 2)).isSameAs(second);
    assertThat(pool.acquire(POD, 2)).isSameAs(first);
    assertThat(pool.acquire(POD, 2)).isNull();
  }

  @Test
  void ofThoseThatSuit_theOneUsedLastIsTakenFirst() {
    CallConnection first = released(POD, 0);
    CallConnection second = released(POD, 1);
    suiting.add(first);
    assertThat(pool.acquire(POD, 2)).isSameAs(first);
    assertThat(pool.acquire(POD, 2)).isSameAs(second);
  }

  @Test
  void oneThatSuitsButIsTooOld_isLeftToExpire() {
    CallConnection old = released(POD, 0);
    CallConnection young = released(POD, 50);
    suiting.add(old);
    assertThat(pool.acquire(POD, 120)).isSameAs(young);
    assertThat(pool.acquire(POD, 120)).isNull();
    assertThat(isClosed(old)).isTrue();
  }

  @Test
  void podsDoNotShareConnections() {
    released(POD, 0);
    assertThat(pool.acquire(OTHER, 1)).isNull();
  }

  @Test
  void theOldestIsClosedWhereThereAreTooMany() {
    List<CallConnection> all = Stream.of(0, 1, 2).map(now -> released(POD, now)).toList();
    assertThat(all).extracting(IdlePoolTest::isClosed).containsExactly(true, false, false);
  }

  @Test
  void aConnectionThatIsTooOldIsNotTaken() {
    CallConnection old = released(POD, 0);
    assertThat(pool.acquire(POD, 101)).isNull();
    assertThat(isClosed(old)).isTrue();
  }

  @Test
  void aConnectionIsTakenUntilItsLastNanosecond() {
    CallConnection kept = released(POD, 0);
    assertThat(pool.acquire(POD, 100)).isSameAs(kept);
  }

  @Test
  void whatIsTooOldExpires() {
    CallConnection old = released(POD, 0);
    CallConnection young = released(POD, 50);
    CallConnection other = released(OTHER, 0);
    pool.expire(120);
    assertThat(isClosed(old)).isTrue();
    assertThat(isClosed(other)).isTrue();
    assertThat(isClosed(young)).isFalse();
    assertThat(pool.acquire(POD, 120)).isSameAs(young);
  }

  @Test
  void closingClosesEveryConnection() {
    CallConnection first = released(POD, 0);
    CallConnection second = released(OTHER, 0);
    pool.close();
    assertThat(isClosed(first)).isTrue();
    assertThat(isClosed(second)).isTrue();
    assertThat(pool.acquire(POD, 1)).isNull();
  }

  private CallConnection released(PodOrigin origin, long now) {
    try {
      CallConnection connection = new EncryptedConnection(origin);
      pool.release(connection, now);
      return connection;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static boolean isClosed(CallConnection connection) {
    return connection.tcp().isClosed();
  }
}

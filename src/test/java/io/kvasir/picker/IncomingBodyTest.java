package io.kvasir.picker;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import io.kvasir.Await;
import io.kvasir.http.MemoryBudget;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import org.junit.jupiter.api.Test;

/** Bodies that come in pieces of any length. */
final class IncomingBodyTest {
  private final MemoryBudget budget =
      new MemoryBudget(64 << 20, NanoClock.SYSTEM, new Metrics(new PrometheusRegistry()));

  @Test
  void pieces_becomeOneBody() {
    byte[] all = new byte[200_000];
    ThreadLocalRandom.current().nextBytes(all);
    try (MemoryBudget.Account account = budget.open(_ -> {})) {
      IncomingBody body = new IncomingBody(account, all.length);
      int at = 0;
      for (int i = 0; at < all.length; i++) {
        int length = Math.min(all.length - at, new int[] {0, 1, 7, 4095, 4096, 20_000}[i % 6]);
        body.add(ByteString.copyFrom(all, at, length), false, _ -> {});
        at += length;
      }

      assertThat(body.bytes()).isEqualTo(all);
    }
  }

  /** A message of one byte takes a hundred. */
  @Test
  void shortPieces_areNotHeldByThemselves() {
    try (MemoryBudget.Account account = budget.open(_ -> {})) {
      IncomingBody body = new IncomingBody(account, 1 << 20);
      List<WeakReference<ByteString>> pieces = new ArrayList<>();
      for (int i = 0; i < 100; i++) {
        ByteString piece = ByteString.copyFrom(new byte[] {(byte) i});
        pieces.add(new WeakReference<>(piece));
        body.add(piece, false, _ -> {});
      }

      Await.await(() -> {
        System.gc();
        return pieces.stream().filter(piece -> piece.refersTo(null)).count() >= 98;
      });
      assertThat(body.bytes()).hasSize(100);
    }
  }
}

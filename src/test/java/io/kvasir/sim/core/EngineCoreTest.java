package io.kvasir.sim.core;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.sim.settings.EngineApi;
import io.kvasir.sim.settings.EventSettings;
import io.kvasir.sim.settings.SimSettings;
import java.util.AbstractList;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

final class EngineCoreTest {
  /** Fails in the rank's own thread. */
  private static final class Broken extends AbstractList<GeneratedSequence> {
    @Override
    public GeneratedSequence get(int index) {
      throw new IllegalStateException("broken on purpose");
    }

    @Override
    public int size() {
      return 1;
    }
  }

  /** A fault of the simulation is not to look like an engine that hangs. */
  @Test
  void rankThatFailed_isNotHealthy_andAnswersAllTheSame() throws Exception {
    SimSettings settings = SimSettings.builder().speed(0).events(EventSettings.OFF).capacityBlocks(512).build();
    EngineMetrics metrics = new EngineMetrics("kvasir-demo", EngineApi.VLLM);
    try (EngineCore core = new EngineCore(0, settings, null, null, metrics)) {
      CompletableFuture<Integer> before = core.held(new long[] {1});
      assertThat(before.get(10, TimeUnit.SECONDS)).isZero();
      assertThat(core.hasFailed()).isFalse();

      core.submit(new Broken());
      CompletableFuture<Boolean> after = core.clear();

      assertThat(after.get(10, TimeUnit.SECONDS)).isTrue();
      assertThat(core.hasFailed()).isTrue();
      assertThat(core.held(new long[0]).get(10, TimeUnit.SECONDS)).isZero();
    }
  }
}

package io.kvasir.load;

import io.kvasir.enginemodel.CacheGroup;
import io.kvasir.enginemodel.Speculation;
import io.kvasir.routing.Role;
import io.kvasir.sim.SimEngine;
import io.kvasir.sim.settings.EngineCondition;
import io.kvasir.sim.settings.EventSettings;
import io.kvasir.sim.settings.SimSettings;
import io.kvasir.sim.transfer.TransferDialect;
import io.kvasir.sim.transfer.TransferSettings;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/** Simulated engines in this process, on free ports of the loopback interface, for want of others. */
final class TruthSimulators implements TruthFleet {
  private final List<SimEngine> engines = new ArrayList<>();
  private final List<EngineAddress> addresses = new ArrayList<>();

  /**
   * Starts them.
   *
   * @param workers aggregated engines
   * @param pairs prefill engines, and as many decode engines
   * @param blocks KV blocks of each
   * @param blockSizes tokens in a block of the aggregated ones, in turn
   * @param groups KV cache groups of the aggregated ones beside full attention
   * @param speculation what a draft model makes of the aggregated ones' caches
   * @param conditions what is wrong with the aggregated ones from the start
   */
  TruthSimulators(
      int workers, int pairs, int blocks, List<Integer> blockSizes, List<CacheGroup> groups, Speculation speculation,
      Set<EngineCondition> conditions)
      throws IOException {
    try {
      for (int i = 0; i < workers; i++) {
        start(
            Role.BOTH, blocks, blockSizes.get(i % blockSizes.size()), groups, speculation, TransferSettings.NONE,
            conditions);
      }
      for (int i = 0; i < pairs; i++) {
        for (Role role : List.of(Role.PREFILL, Role.DECODE)) {
          start(
              role, blocks, blockSizes.getFirst(), List.of(), Speculation.NONE,
              TransferSettings.of(TransferDialect.VLLM_NIXL), Set.of());
        }
      }
    } catch (IOException e) {
      close();
      throw e;
    }
  }

  @Override
  public List<EngineAddress> addresses() {
    return addresses;
  }

  @Override
  public void close() {
    engines.forEach(SimEngine::close);
  }

  private void start(
      Role role, int blocks, int blockSize, List<CacheGroup> groups, Speculation speculation, TransferSettings transfer,
      Set<EngineCondition> conditions)
      throws IOException {
    SimEngine engine =
        SimEngine.start(
            SimSettings.builder()
                .port(0)
                .model("kvasir-demo")
                .loras(List.of("kvasir-demo-sql", "kvasir-demo-legal"))
                .speed(20)
                .seed(engines.size())
                .capacityBlocks(blocks)
                .blockSize(blockSize)
                .groups(groups)
                .speculation(speculation)
                .maxModelLen(Math.min(blocks, 1024) * 16)
                .role(role)
                .transfer(transfer)
                .conditions(conditions)
                .events(EventSettings.DEFAULT.withLoopback())
                .build());
    engines.add(engine);
    addresses.add(
        new EngineAddress(
            engine.url(),
            engine.eventsEndpoint(),
            engine.replayEndpoint(),
            true,
            role.name().toLowerCase(Locale.ROOT),
            engine.transferPort() == 0
                ? null
                : new EngineAddress.Transfer(
                    transfer.dialect().toString(), engine.transferPort(), engine.engineId(0))));
  }
}

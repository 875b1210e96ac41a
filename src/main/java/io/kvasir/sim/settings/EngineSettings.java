package io.kvasir.sim.settings;

import io.kvasir.enginemodel.CacheGroup;
import io.kvasir.enginemodel.EngineModel;
import io.kvasir.enginemodel.Speculation;
import io.kvasir.enginemodel.StepTime;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The size and speed of a simulated engine.
 *
 * @param coefficients name of a coefficient set, see {@link EngineModel#names()}
 * @param ownStepTime coefficients in place of the set's; null for the set's
 * @param blockSize tokens per KV block
 * @param capacityBlocks KV blocks per rank; 0 for what the engine's memory would hold
 * @param groups KV cache groups beside that of full attention, which share its blocks, for a hybrid model
 * @param speculation what a draft model makes of the prefix cache
 * @param maxBatchedTokens tokens computed per iteration at most
 * @param maxSequences sequences per iteration at most
 * @param ranks data-parallel ranks, each with a cache and event ports of its own; 1 to 64
 * @param speed how many times faster than real; 0 for as fast as the machine can
 */
public record EngineSettings(
    String coefficients,
    @Nullable StepTime ownStepTime,
    int blockSize,
    int capacityBlocks,
    List<CacheGroup> groups,
    Speculation speculation,
    int maxBatchedTokens,
    int maxSequences,
    int ranks,
    double speed) {

  /** A thousand times what an engine has; more would need more memory than there is. */
  private static final int MOST_BLOCKS = 10_000_000;

  /** Copies the groups. */
  public EngineSettings {
    groups = List.copyOf(groups);
  }

  /** KV blocks per rank, from the settings or the engine's memory. */
  public int blocks() {
    return capacityBlocks > 0 ? capacityBlocks : EngineModel.named(coefficients).kvTokens() / blockSize;
  }

  /** The duration of an iteration. */
  public StepTime stepTime() {
    return ownStepTime != null ? ownStepTime : EngineModel.named(coefficients).stepTime();
  }

  void validate(SettingFaults faults, int modelLength) {
    faults.checkAtLeast("block-size", blockSize, 1);
    if (capacityBlocks < 0 || capacityBlocks > MOST_BLOCKS) {
      faults.add("capacity: must be 0 to " + MOST_BLOCKS + ", is " + capacityBlocks);
    }
    faults.checkAtLeast("max-batched-tokens", maxBatchedTokens, 1);
    faults.checkAtLeast("max-sequences", maxSequences, 1);
    if (!EngineModel.names().contains(coefficients)) {
      faults.add(
          "engine: '" + coefficients + "' is not known; one of " + String.join(", ", EngineModel.names()));
    } else if (blockSize >= 1 && (long) modelLength > (long) blocks() * blockSize) {
      faults.add("max-model-len: " + modelLength + " tokens do not fit into " + blocks() + " blocks of " + blockSize
          + "; raise capacity or lower max-model-len");
    } else if (blockSize >= 1 && blocks() < 1) {
      faults.add("block-size: " + blockSize + " is more than the engine's whole cache holds");
    }
    if (!(speed >= 0) || Double.isInfinite(speed)) {
      faults.add("speed: must be 0 (as fast as possible) or more, is " + speed);
    }
    if (ranks < 1 || ranks > 64) {
      faults.add("ranks: must be 1 to 64, is " + ranks);
    }
  }
}

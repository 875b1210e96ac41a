package io.kvasir.lmcache;

import io.kvasir.index.Tier;
import io.kvasir.telemetry.Problem;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/** A service of LMCache that knows where prompts are held: the controller, or the coordinator. Thread-safe. */
interface LookupSource extends InstanceSource {
  /**
   * A prompt that is looked up.
   *
   * @param model as its request names it
   * @param tokens at least one chunk
   * @param salt keeps caches of tenants apart; empty without one
   */
  record Prompt(String model, int[] tokens, String salt) {}

  /**
   * The chunks of a prompt that an instance holds.
   *
   * @param instance its id
   * @param tier where it holds them; whatever is {@link Tier#REMOTE} can be loaded by every instance
   * @param end position in the prompt after the last of them, in tokens
   */
  record Location(String instance, Tier tier, int end) {}

  /**
   * Where a prompt's chunks are held: the same for all prompts that begin with the same chunks up to the first one that
   * nobody holds. Fails with an {@link IOException} when no usable response comes in time.
   */
  CompletableFuture<List<Location>> lookup(Prompt prompt);

  /** Whether one model's prompts, and those under one salt, may be held elsewhere than the same ones of another. */
  boolean separatesModels();

  /** What the latest answer showed to be wrong with the configuration; empty when that was nothing. */
  Optional<Problem> fault();
}

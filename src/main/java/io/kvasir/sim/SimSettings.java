package io.kvasir.sim;

import io.kvasir.lab.engine.EngineModel;
import io.kvasir.lab.engine.StepTime;
import io.kvasir.routing.Role;
import io.kvasir.sim.transfer.TransferSettings;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Everything a simulated engine can be told. {@link #builder()} starts from an aggregated vLLM with one rank
 * on port 8000; {@link #validate()} names all faults at once, in the words of the command line.
 *
 * @param host interface to listen on
 * @param port HTTP port; 0 for a free one
 * @param model name it is served under
 * @param modelDirectory where {@code tokenizer.json} and the chat template are; null for the demo model that ships
 * @param loras names of the adapters it serves beside the model
 * @param maxModelLen longest prompt and answer together, tokens; 0 for what the cache holds, at most 131,072
 * @param blockSize tokens per KV block
 * @param capacityBlocks KV blocks per rank; 0 for what the engine's memory would hold
 * @param engine name of a coefficient set, see {@link EngineModel#names()}
 * @param stepTime own coefficients in place of the set's; null for the set's
 * @param maxBatchedTokens tokens computed per iteration at most
 * @param maxSequences sequences per iteration at most
 * @param speed how many times faster than real; 0 for as fast as the machine can
 * @param ranks data-parallel ranks, each with a cache and event ports of its own
 * @param role what the engine is for
 * @param seed decides block keys and fault draws
 * @param reportCachedTokens whether usage tells cached tokens
 * @param transfer how it moves KV from or to other engines
 * @param hostTier what it keeps in host memory
 * @param events how it tells of its cache
 * @param faults what goes wrong on purpose
 * @param conditions what is wrong with all of it from the start
 * @param healthDelay how long {@code /health} takes to answer
 * @param keepAlive how long an idle connection stays open
 */
public record SimSettings(
    String host,
    int port,
    String model,
    @Nullable Path modelDirectory,
    List<String> loras,
    int maxModelLen,
    int blockSize,
    int capacityBlocks,
    String engine,
    @Nullable StepTime stepTime,
    int maxBatchedTokens,
    int maxSequences,
    double speed,
    int ranks,
    Role role,
    long seed,
    boolean reportCachedTokens,
    TransferSettings transfer,
    HostTierSettings hostTier,
    EventSettings events,
    List<InjectedFault> faults,
    Set<EngineCondition> conditions,
    Duration healthDelay,
    Duration keepAlive) {

  private static final int LONGEST_MODEL_LEN = 131_072;

  /** Copies the lists. */
  public SimSettings {
    loras = List.copyOf(loras);
    faults = List.copyOf(faults);
    conditions = Set.copyOf(conditions);
  }

  /** Settings to begin with. */
  public static Builder builder() {
    return new Builder();
  }

  /** These, at other places. */
  SimSettings withPorts(int otherPort, EventSettings otherEvents, TransferSettings otherTransfer) {
    return new SimSettings(
        host, otherPort, model, modelDirectory, loras, maxModelLen, blockSize, capacityBlocks, engine, stepTime,
        maxBatchedTokens, maxSequences, speed, ranks, role, seed, reportCachedTokens, otherTransfer, hostTier,
        otherEvents, faults, conditions, healthDelay, keepAlive);
  }

  /** All that is wrong, one plain sentence each; empty when an engine can start. */
  public List<String> validate() {
    List<String> wrong = new ArrayList<>();
    port(wrong, "port", port, 1);
    if (model.isBlank()) {
      wrong.add("model: give a name to serve the model under");
    }
    if (modelDirectory != null && !Files.isRegularFile(modelDirectory.resolve("tokenizer.json"))) {
      wrong.add("model-dir: there is no tokenizer.json in " + modelDirectory);
    }
    atLeast(wrong, "block-size", blockSize, 1);
    atLeast(wrong, "capacity", capacityBlocks, 0);
    atLeast(wrong, "max-model-len", maxModelLen, 0);
    atLeast(wrong, "max-batched-tokens", maxBatchedTokens, 1);
    atLeast(wrong, "max-sequences", maxSequences, 1);
    if (!EngineModel.names().contains(engine)) {
      wrong.add("engine: '" + engine + "' is not known; one of " + String.join(", ", EngineModel.names()));
    } else if (blockSize >= 1 && (long) maxModelLen > (long) effectiveBlocks() * blockSize) {
      wrong.add("max-model-len: " + maxModelLen + " tokens do not fit into " + effectiveBlocks() + " blocks of "
          + blockSize
          + "; raise capacity or lower max-model-len");
    } else if (blockSize >= 1 && effectiveBlocks() < 1) {
      wrong.add("block-size: " + blockSize + " is more than the engine's whole cache holds");
    }
    if (!(speed >= 0) || Double.isInfinite(speed)) {
      wrong.add("speed: must be 0 (as fast as possible) or more, is " + speed);
    }
    if (ranks < 1 || ranks > 64) {
      wrong.add("ranks: must be 1 to 64, is " + ranks);
    }
    if (role == Role.ENCODE && transfer.encoderDirectory() == null) {
      wrong.add("encoder-dir: an encoder needs a directory in which other engines find what it made");
    }
    if (healthDelay.isNegative()) {
      wrong.add("health-delay: must not be negative");
    }
    if (keepAlive.toMillis() < 1) {
      wrong.add("keep-alive: must be at least a millisecond");
    }
    wrong.addAll(transfer.validate());
    wrong.addAll(hostTier.validate(blockSize));
    wrong.addAll(events.validate(ranks));
    return List.copyOf(wrong);
  }

  /** KV blocks per rank, from the settings or the engine's memory. */
  int effectiveBlocks() {
    return capacityBlocks > 0 ? capacityBlocks : EngineModel.named(engine).kvTokens() / blockSize;
  }

  /** Longest prompt and answer together, tokens. */
  int effectiveModelLen() {
    return maxModelLen > 0 ? maxModelLen : (int) Math.min(LONGEST_MODEL_LEN, (long) effectiveBlocks() * blockSize);
  }

  /** What an iteration takes. */
  StepTime effectiveStepTime() {
    return stepTime != null ? stepTime : EngineModel.named(engine).stepTime();
  }

  /** Notes when {@code count} ports from this one on cannot be. */
  static void port(List<String> wrong, String name, int port, int count) {
    if (port < 0 || port > 65_536 - count) {
      wrong.add(name + ": must be 0 to " + (65_536 - count) + ", is " + port);
    }
  }

  static void atLeast(List<String> wrong, String name, int value, int least) {
    if (value < least) {
      wrong.add(name + ": must be at least " + least + ", is " + value);
    }
  }

  /** Settings under construction; not thread-safe. */
  public static final class Builder {
    private String host = "127.0.0.1";
    private int port = 8000;
    private String model = "kvasir-demo";
    private @Nullable Path modelDirectory;
    private List<String> loras = List.of();
    private int maxModelLen;
    private int blockSize = 16;
    private int capacityBlocks;
    private String engine = "h100-Llama-3.1-8B-tp1";
    private @Nullable StepTime stepTime;
    private int maxBatchedTokens = 8192;
    private int maxSequences = 256;
    private double speed = 1;
    private int ranks = 1;
    private Role role = Role.BOTH;
    private long seed;
    private boolean reportCachedTokens = true;
    private TransferSettings transfer = TransferSettings.NONE;
    private HostTierSettings hostTier = HostTierSettings.NONE;
    private EventSettings events = EventSettings.DEFAULT;
    private List<InjectedFault> faults = List.of();
    private Set<EngineCondition> conditions = Set.of();
    private Duration healthDelay = Duration.ZERO;
    private Duration keepAlive = Duration.ofSeconds(5);

    private Builder() {}

    /** Interface to listen on. */
    public Builder host(String value) {
      host = value;
      return this;
    }

    /** HTTP port; 0 for a free one. */
    public Builder port(int value) {
      port = value;
      return this;
    }

    /** Name the model is served under. */
    public Builder model(String value) {
      model = value;
      return this;
    }

    /** Where tokenizer and chat template are. */
    public Builder modelDirectory(@Nullable Path value) {
      modelDirectory = value;
      return this;
    }

    /** Adapters served beside the model. */
    public Builder loras(List<String> value) {
      loras = value;
      return this;
    }

    /** Longest prompt and answer together, tokens. */
    public Builder maxModelLen(int value) {
      maxModelLen = value;
      return this;
    }

    /** Tokens per KV block. */
    public Builder blockSize(int value) {
      blockSize = value;
      return this;
    }

    /** KV blocks per rank. */
    public Builder capacityBlocks(int value) {
      capacityBlocks = value;
      return this;
    }

    /** Name of a coefficient set. */
    public Builder engine(String value) {
      engine = value;
      return this;
    }

    /** Own coefficients. */
    public Builder stepTime(@Nullable StepTime value) {
      stepTime = value;
      return this;
    }

    /** Tokens computed per iteration at most. */
    public Builder maxBatchedTokens(int value) {
      maxBatchedTokens = value;
      return this;
    }

    /** Sequences per iteration at most. */
    public Builder maxSequences(int value) {
      maxSequences = value;
      return this;
    }

    /** How many times faster than real; 0 for as fast as the machine can. */
    public Builder speed(double value) {
      speed = value;
      return this;
    }

    /** Data-parallel ranks. */
    public Builder ranks(int value) {
      ranks = value;
      return this;
    }

    /** What the engine is for. */
    public Builder role(Role value) {
      role = value;
      return this;
    }

    /** Decides block keys and fault draws. */
    public Builder seed(long value) {
      seed = value;
      return this;
    }

    /** Whether usage tells cached tokens. */
    public Builder reportCachedTokens(boolean value) {
      reportCachedTokens = value;
      return this;
    }

    /** How KV moves from or to other engines. */
    public Builder transfer(TransferSettings value) {
      transfer = value;
      return this;
    }

    /** What the engine keeps in host memory. */
    public Builder hostTier(HostTierSettings value) {
      hostTier = value;
      return this;
    }

    /** How the engine tells of its cache. */
    public Builder events(EventSettings value) {
      events = value;
      return this;
    }

    /** What goes wrong on purpose. */
    public Builder faults(List<InjectedFault> value) {
      faults = value;
      return this;
    }

    /** What is wrong with all of it. */
    public Builder conditions(Set<EngineCondition> value) {
      conditions = value;
      return this;
    }

    /** How long {@code /health} takes to answer. */
    public Builder healthDelay(Duration value) {
      healthDelay = value;
      return this;
    }

    /** How long an idle connection stays open. */
    public Builder keepAlive(Duration value) {
      keepAlive = value;
      return this;
    }

    /** The settings; they may still be wrong, see {@link SimSettings#validate()}. */
    public SimSettings build() {
      return new SimSettings(
          host, port, model, modelDirectory, loras, maxModelLen, blockSize, capacityBlocks, engine, stepTime,
          maxBatchedTokens, maxSequences, speed, ranks, role, seed, reportCachedTokens, transfer, hostTier,
          events, faults, conditions, healthDelay, keepAlive);
    }
  }
}

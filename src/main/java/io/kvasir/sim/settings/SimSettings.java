package io.kvasir.sim.settings;

import io.kvasir.enginemodel.CacheGroup;
import io.kvasir.enginemodel.Speculation;
import io.kvasir.enginemodel.StepTime;
import io.kvasir.routing.Role;
import io.kvasir.sim.publisher.EventFormat.Encoding;
import io.kvasir.sim.transfer.TransferDialect;
import io.kvasir.sim.transfer.TransferSettings;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The settings of a simulated engine. {@link #builder()} starts from an aggregated vLLM with one rank on port 8000;
 * {@link #validate()} names all faults at once, by the command line's options.
 *
 * @param http where and how it listens
 * @param model the model it serves
 * @param engine its size and speed
 * @param role what the engine is for
 * @param seed decides block keys and fault draws
 * @param cachedTokens when usage tells of cached tokens
 * @param kv what becomes of KV blocks beyond the engine's own cache
 * @param loadPort port of rank 0's socket of load, rank r's is {@code loadPort + r}, 0 for free ones; null without
 * @param failures what goes wrong
 */
public record SimSettings(
    ListenSettings http,
    ModelSettings model,
    EngineSettings engine,
    Role role,
    long seed,
    CachedTokensUsage cachedTokens,
    KvSettings kv,
    @Nullable Integer loadPort,
    FailureSettings failures) {

  private static final int LONGEST_MODEL_LEN = 131_072;

  /**
   * What becomes of KV blocks beyond the engine's own cache.
   *
   * @param transfer how they move from or to other engines
   * @param hostTier the cache of them in host memory
   * @param events how changes of the caches are published
   * @param prefixCaching whether prefixes are kept for later requests
   * @param sessions whether what sessions have used is evicted after all else
   */
  public record KvSettings(
      TransferSettings transfer, HostTierSettings hostTier, EventSettings events, boolean prefixCaching,
      boolean sessions) {}

  /**
   * What goes wrong.
   *
   * @param faults what requests meet
   * @param conditions the conditions that hold for the whole engine from the start
   */
  public record FailureSettings(List<InjectedFault> faults, Set<EngineCondition> conditions) {
    /** Copies the collections. */
    public FailureSettings {
      faults = List.copyOf(faults);
      conditions = Set.copyOf(conditions);
    }
  }

  public static Builder builder() {
    return new Builder();
  }

  /** These, on other ports. */
  public SimSettings withPorts(
      ListenSettings otherHttp, EventSettings otherEvents, TransferSettings otherTransfer,
      @Nullable Integer otherLoadPort) {
    return new SimSettings(
        otherHttp, model, engine, role, seed, cachedTokens,
        new KvSettings(otherTransfer, kv.hostTier(), otherEvents, kv.prefixCaching(), kv.sessions()), otherLoadPort,
        failures);
  }

  /** All faults, one plain sentence each; empty when an engine can start. */
  public List<String> validate() {
    SettingFaults found = new SettingFaults();
    http.validate(found);
    model.validate(found);
    engine.validate(found, model.maxLength());
    if (role == Role.ENCODE && kv.transfer().encoderDirectory() == null) {
      found.add("encoder-dir: an encoder needs a directory in which other engines find its embeddings");
    }
    found.addAll(kv.transfer().validate());
    if (kv.transfer().dialect() == TransferDialect.VLLM_P2P && engine.ranks() > 1) {
      found.add("dialect: vllm-p2p is simulated for engines of one rank");
    }
    found.addAll(kv.hostTier().validate(engine.blockSize()));
    kv.events().validate(found, engine.ranks());
    validateGroups(found);
    validateSpeculation(found);
    validateLoadPort(found);
    if (kv.sessions() && (http.api() != EngineApi.SGLANG || kv.events().format().encoding() != Encoding.SGLANG)) {
      found.add("sessions: only an engine with --act-as sglang and SGLang's events keeps what sessions have used");
    }
    return found.list();
  }

  /** What has one group of blocks only. */
  private void validateGroups(SettingFaults found) {
    if (engine.groups().isEmpty()) {
      return;
    }
    Encoding encoding = kv.events().format().encoding();
    if (encoding != Encoding.VLLM_MAP && encoding != Encoding.VLLM_ARRAY) {
      String name = encoding.name().toLowerCase(Locale.ROOT).replace('_', '-');
      found.add("cache-groups: only vLLM's events have groups, not those of event-encoding " + name);
    }
    if (kv.events().replay().snapshots()) {
      found.add("cache-groups: snapshots are simulated for the prefix only; leave out snapshots");
    }
    if (kv.hostTier().blocks() > 0) {
      found.add("cache-groups: host memory is simulated for engines of one group; leave out host-blocks");
    }
    if (kv.transfer().dialect() != TransferDialect.NONE) {
      found.add("cache-groups: transfers are simulated for engines of one group; leave out the dialect");
    }
  }

  /** What speculation is simulated with. */
  private void validateSpeculation(SettingFaults found) {
    if (engine.speculation() == Speculation.NONE) {
      return;
    }
    Encoding encoding = kv.events().format().encoding();
    boolean sglang = encoding == Encoding.SGLANG;
    if (engine.speculation() == Speculation.LOOKAHEAD && !sglang && encoding != Encoding.VLLM_MAP) {
      found.add("speculation: only the event-encodings vllm-map and sglang tell how prompts go on after a block");
    }
    if (engine.speculation() == Speculation.RECOMPUTES_LAST_BLOCK && sglang) {
      found.add("speculation: SGLang computes no block again; use lookahead");
    }
    if (!engine.groups().isEmpty() || kv.hostTier().blocks() > 0 || kv.events().replay().snapshots()
        || kv.transfer().dialect() != TransferDialect.NONE) {
      found.add("speculation: is simulated without cache-groups, host-blocks, snapshots and dialect");
    }
  }

  /** SGLang announces its load beside its events. */
  private void validateLoadPort(SettingFaults found) {
    if (loadPort == null) {
      return;
    }
    found.checkPort("load-port", loadPort, engine.ranks());
    if (http.api() != EngineApi.SGLANG || !kv.events().enabled()) {
      found.add("load-port: only an engine with --act-as sglang and with events announces where its load is");
    }
  }

  /** Longest prompt and answer together, tokens. */
  public int maxModelLen() {
    return model.maxLength() > 0
        ? model.maxLength()
        : (int) Math.min(LONGEST_MODEL_LEN, (long) engine.blocks() * engine.blockSize());
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
    private List<CacheGroup> groups = List.of();
    private Speculation speculation = Speculation.NONE;
    private String engine = "h100-Llama-3.1-8B-tp1";
    private @Nullable StepTime stepTime;
    private int maxBatchedTokens = 8192;
    private int maxSequences = 256;
    private double speed = 1;
    private int ranks = 1;
    private Role role = Role.BOTH;
    private long seed;
    private CachedTokensUsage cachedTokens = CachedTokensUsage.ALWAYS;
    private TransferSettings transfer = TransferSettings.NONE;
    private HostTierSettings hostTier = HostTierSettings.NONE;
    private EventSettings events = EventSettings.DEFAULT;
    private @Nullable Integer loadPort;
    private List<InjectedFault> faults = List.of();
    private Set<EngineCondition> conditions = Set.of();
    private Duration healthDelay = Duration.ZERO;
    private Duration keepAlive = Duration.ofSeconds(5);
    private @Nullable EngineApi api;
    private boolean developerMode;
    private @Nullable Integer grpcPort;
    private boolean prefixCaching = true;
    private boolean sessions;

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

    /** KV cache groups beside that of full attention. */
    public Builder groups(List<CacheGroup> value) {
      groups = value;
      return this;
    }

    /** What a draft model makes of the prefix cache. */
    public Builder speculation(Speculation value) {
      speculation = value;
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

    /** Whether usage reports cached tokens. */
    public Builder cachedTokens(CachedTokensUsage value) {
      cachedTokens = value;
      return this;
    }

    /** How KV moves from or to other engines. */
    public Builder transfer(TransferSettings value) {
      transfer = value;
      return this;
    }

    /** The KV cache in host memory. */
    public Builder hostTier(HostTierSettings value) {
      hostTier = value;
      return this;
    }

    /** How cache events are published. */
    public Builder events(EventSettings value) {
      events = value;
      return this;
    }

    /** The faults that requests meet. */
    public Builder faults(List<InjectedFault> value) {
      faults = value;
      return this;
    }

    /** The conditions that hold for the whole engine. */
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

    /** The engine that it acts as; without this, the one whose way of handing KV blocks over it has. */
    public Builder api(@Nullable EngineApi value) {
      api = value;
      return this;
    }

    /** Whether it shows its whole configuration, as vLLM with {@code VLLM_SERVER_DEV_MODE=1} does. */
    public Builder developerMode(boolean value) {
      developerMode = value;
      return this;
    }

    /** Port of vLLM's gRPC, 0 for a free one; null, as it begins, for none. */
    public Builder grpcPort(@Nullable Integer value) {
      grpcPort = value;
      return this;
    }

    /** Port where load is published, 0 for a free one; null, as it begins, for none. */
    public Builder loadPort(@Nullable Integer value) {
      loadPort = value;
      return this;
    }

    /** Whether prefixes are kept for later requests; without them there are no events either. */
    public Builder prefixCaching(boolean value) {
      prefixCaching = value;
      return this;
    }

    /** Whether sessions' blocks are evicted after all else, as with SGLang's {@code --enable-session-radix-cache}. */
    public Builder sessions(boolean value) {
      sessions = value;
      return this;
    }

    /** The settings; they may have faults, see {@link SimSettings#validate()}. */
    public SimSettings build() {
      return new SimSettings(
          new ListenSettings(
              host, port, healthDelay, keepAlive, api == null ? EngineApi.of(transfer.dialect()) : api, developerMode,
              grpcPort),
          new ModelSettings(model, modelDirectory, loras, maxModelLen),
          new EngineSettings(
              engine, stepTime, blockSize, capacityBlocks, groups, speculation, maxBatchedTokens, maxSequences, ranks,
              speed),
          role, seed, cachedTokens, new KvSettings(transfer, hostTier, events, prefixCaching, sessions),
          loadPort, new FailureSettings(faults, conditions));
    }
  }
}

package io.kvasir.engines;

import java.net.URI;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a running engine told of itself. Immutable.
 *
 * @param url its base URL
 * @param identity its kind and version
 * @param models what it serves, LoRA adapters after the models; at least one model, at most {@link #MAX_MODELS} names
 * @param cache its KV cache
 * @param events how it publishes the cache's events
 * @param load how it publishes its load
 * @param transfer how it hands KV blocks over; null when it does not, or does not tell, see {@code unknowns}
 * @param unknowns what it does not tell
 * @param grpcPort where it was asked over gRPC what it does not tell over HTTP; null where it was not
 */
public record EngineDescription(
    URI url,
    EngineIdentity identity,
    List<ServedModel> models,
    CacheDescription cache,
    EventPublishing events,
    LoadPublishing load,
    @Nullable TransferDescription transfer,
    List<Unknown> unknowns,
    @Nullable Integer grpcPort) {
  /** Names that are taken of one engine, which could name as many as it likes; others are left out. */
  public static final int MAX_MODELS = 1024;

  /** Data-parallel ranks that a pod may have: each is a worker, and a cell has room for so many. */
  public static final int MAX_RANKS = 256;

  /** Copies the lists. */
  public EngineDescription {
    models = List.copyOf(models);
    unknowns = List.copyOf(unknowns);
  }

  /** What an engine told over HTTP alone. */
  public EngineDescription(
      URI url,
      EngineIdentity identity,
      List<ServedModel> models,
      CacheDescription cache,
      EventPublishing events,
      LoadPublishing load,
      @Nullable TransferDescription transfer,
      List<Unknown> unknowns) {
    this(url, identity, models, cache, events, load, transfer, unknowns, null);
  }

  /** The same, by an engine that was asked over gRPC, too. */
  EngineDescription withGrpcPort(int port) {
    return new EngineDescription(url, identity, models, cache, events, load, transfer, unknowns, port);
  }

  /** The same with something else known and not known of how it hands KV blocks over. */
  EngineDescription with(@Nullable TransferDescription other, List<Unknown> otherUnknowns) {
    return new EngineDescription(url, identity, models, cache, events, load, other, otherUnknowns, grpcPort);
  }

  /** Whether it told where its cache events are and of what size its blocks are, which a router cannot do without. */
  boolean isEnough() {
    return cache.blockSize() != null && !(events instanceof EventPublishing.Untold);
  }

  /** The models, without LoRA adapters. */
  public List<ServedModel> baseModels() {
    return models.stream().filter(model -> !model.isAdapter()).toList();
  }

  /** The names of the LoRA adapters. */
  public List<String> adapters() {
    return models.stream().filter(ServedModel::isAdapter).map(ServedModel::name).toList();
  }
}

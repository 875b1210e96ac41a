package io.kvasir.doctor.exam;

import io.kvasir.events.EventFeed;
import io.kvasir.routing.Worker;
import java.net.URI;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * An engine to examine, as the router knows it.
 *
 * @param pod the pod's name
 * @param url its base URL
 * @param key its API key, null when it needs none
 * @param models the names by which requests call its model and LoRA adapters
 * @param blockSize tokens in a KV block as the router counts them, null when that is not known
 * @param ranks its data-parallel ranks
 * @param events where the router takes its events from; null when that is not known
 * @param worker its first rank as the router knows it; null when its role is not known
 */
public record EngineTarget(
    String pod,
    URI url,
    @Nullable String key,
    Set<String> models,
    @Nullable Integer blockSize,
    int ranks,
    @Nullable List<EventFeed> events,
    @Nullable Worker worker) {
  /** An engine whose role is not known. */
  public EngineTarget(
      String pod, URI url, @Nullable String key, Set<String> models, @Nullable Integer blockSize, int ranks,
      @Nullable List<EventFeed> events) {
    this(pod, url, key, models, blockSize, ranks, events, null);
  }

  /** Copies the collections. */
  public EngineTarget {
    models = Set.copyOf(models);
    events = events == null ? null : List.copyOf(events);
  }

  @Override
  public String toString() {
    return pod + " at " + url;
  }
}

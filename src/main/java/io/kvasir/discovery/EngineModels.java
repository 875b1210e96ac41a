package io.kvasir.discovery;

import java.io.IOException;
import java.net.URI;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The models of engines whose pods do not name any, from the engines themselves. An engine is asked on a thread of its
 * own until it answers. Thread-safe.
 */
final class EngineModels implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(EngineModels.class);
  private static final Duration MIN_PAUSE = Duration.ofSeconds(1);
  private static final Duration MAX_PAUSE = Duration.ofSeconds(30);

  private final ModelInquiry inquiry;
  private final Runnable listener;
  private final Map<URI, Engine> engines = new HashMap<>();

  /**
   * Knows no models yet.
   *
   * @param listener is run when an engine has answered, or has failed to for the first time
   */
  EngineModels(ModelInquiry inquiry, Runnable listener) {
    this.inquiry = inquiry;
    this.listener = listener;
  }

  /** The models of an engine, the base model first; empty until it has answered. */
  synchronized List<String> of(URI url) {
    return engines.computeIfAbsent(url, Engine::new).models;
  }

  /** Why an engine's models are not known. */
  synchronized Optional<String> failure(URI url) {
    Engine engine = engines.get(url);
    return engine == null ? Optional.empty() : Optional.ofNullable(engine.failure);
  }

  /** Forgets an engine: its models may be others when it is back. */
  synchronized void forget(URI url) {
    Engine engine = engines.remove(url);
    if (engine != null) {
      engine.thread.interrupt();
    }
  }

  /** Forgets all but these. */
  synchronized void retain(List<URI> urls) {
    List.copyOf(engines.keySet()).stream().filter(url -> !urls.contains(url)).forEach(this::forget);
  }

  @Override
  public void close() {
    retain(List.of());
  }

  /** An engine that is asked. */
  private final class Engine {
    private final URI url;
    private final Thread thread;
    // Guarded by EngineModels.this.
    private List<String> models = List.of();
    private @Nullable String failure;

    Engine(URI url) {
      this.url = url;
      this.thread = Thread.ofVirtual().name("kvasir-models-" + url).start(this::run);
    }

    private void run() {
      try {
        Duration pause = MIN_PAUSE;
        while (!inquire()) {
          Thread.sleep(pause);
          pause = pause.multipliedBy(2).compareTo(MAX_PAUSE) < 0 ? pause.multipliedBy(2) : MAX_PAUSE;
        }
      } catch (InterruptedException forgotten) {
        LOG.debug("{} is forgotten", url);
      }
    }

    private boolean inquire() throws InterruptedException {
      List<String> found = List.of();
      String reason = null;
      try {
        found = inquiry.models(url);
      } catch (IOException silent) {
        reason = String.valueOf(silent.getMessage());
      }
      boolean changed;
      synchronized (EngineModels.this) {
        if (engines.get(url) != this) {
          return true;
        }
        changed = !found.isEmpty() || failure == null;
        models = List.copyOf(found);
        failure = reason;
      }
      if (changed) {
        listener.run();
      }
      return !found.isEmpty();
    }
  }
}

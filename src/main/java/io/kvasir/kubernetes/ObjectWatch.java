package io.kvasir.kubernetes;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.kubernetes.KubernetesApi.ObjectList;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps the objects of a selection as the Kubernetes API has them: lists them, and watches their changes from the
 * list's resource version on. A watch that ends goes on where it was, at the version of the last change or bookmark.
 * All objects are listed again when that version is too old, and once per {@code relist}, because a watch may lose
 * events or hang silently. Failures are retried with exponential back-off, up to half a minute; the known objects stay
 * meanwhile. Owns its thread.
 */
public final class ObjectWatch implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(ObjectWatch.class);
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Duration MAX_PAUSE = Duration.ofSeconds(30);
  /** How much later than requested a server may end a watch. */
  private static final Duration GRACE = Duration.ofSeconds(5);

  /** Who has to know of changes. Called on the watch's own thread; what it throws is a failure of the watch. */
  public interface Listener {
    /**
     * The objects, after a list, after changes, and when the API answers again after a failure.
     *
     * @param selection what they were selected by: where there are alternatives, the one that the API has
     * @param objects all of them; a copy, unmodifiable
     */
    void updated(ObjectSelection selection, Map<ObjectKey, JsonNode> objects);

    /** The API does not answer as it should; the known objects stay. Called for each attempt that fails. */
    void failed(Failure failure);
  }

  /**
   * Why a selection could not be read.
   *
   * @param reason in a sentence
   * @param refused whether the API has answered, and will not let it be read
   * @param missing whether the API has no such resource
   */
  public record Failure(String reason, boolean refused, boolean missing) {}

  /**
   * How often the API is called.
   *
   * @param relist time between two lists, which repair what a watch may have lost
   * @param pause before a watch is opened again, and after the first failure; doubles with each further failure
   */
  public record Pace(Duration relist, Duration pause) {
    /** A pace with the pause that suits a real API server. */
    public static Pace of(Duration relist) {
      return new Pace(relist, Duration.ofMillis(500));
    }
  }

  private final KubernetesConnection connection;
  private final List<ObjectSelection> alternatives;
  private final Pace pace;
  private final Listener listener;
  private final Thread thread;
  /** As of {@link #version}. Of the watch's thread. */
  private final Map<ObjectKey, JsonNode> objects = new TreeMap<>();
  private @Nullable ObjectSelection selection;
  /** Where the next watch begins; empty when all objects have to be listed before. */
  private String version = "";
  private long listedAt;
  private boolean failing;
  private Duration pause;
  private volatile boolean closed;

  /**
   * Starts listing and watching.
   *
   * @param alternatives the same objects by different API groups, the preferred first: the first that the API has is
   *     read, which is found out anew with each list
   */
  public ObjectWatch(
      KubernetesConnection connection, List<ObjectSelection> alternatives, Pace pace, Listener listener) {
    this.connection = connection;
    this.alternatives = List.copyOf(alternatives);
    this.pace = pace;
    this.listener = listener;
    this.pause = pace.pause;
    this.thread = Thread.ofVirtual().name("kvasir-watch-" + alternatives.getFirst().resource()).start(this::run);
  }

  @Override
  public void close() {
    closed = true;
    thread.interrupt();
  }

  private void run() {
    try {
      while (!closed) {
        try (KubernetesApi api = new KubernetesApi(connection)) {
          while (!closed) {
            follow(api);
            pause = pace.pause;
            Thread.sleep(pause);
          }
        } catch (KubernetesApiException refused) {
          if (refused.isExpired()) {
            version = "";
          } else {
            failed(new Failure(String.valueOf(refused.getMessage()), refused.isRefusal(), refused.isMissing()));
          }
        } catch (IOException broken) {
          failed(new Failure(
              "the Kubernetes API at " + connection.api() + " cannot be reached: " + message(broken), false, false));
        } catch (RuntimeException | Error unusable) {
          // Whatever the objects have, or the listener makes of them: the next change may be another.
          failed(new Failure(
              "what the Kubernetes API at " + connection.api() + " has cannot be used: " + message(unusable), false,
              false));
        }
        Thread.sleep(pause.multipliedBy(75 + ThreadLocalRandom.current().nextInt(50)).dividedBy(100));
        pause = pause.multipliedBy(2).compareTo(MAX_PAUSE) < 0 ? pause.multipliedBy(2) : MAX_PAUSE;
      }
    } catch (InterruptedException closed) {
      LOG.debug("the watch of {} ends", alternatives);
    }
  }

  private static String message(Throwable failure) {
    return failure.getMessage() == null ? failure.toString() : failure.getMessage();
  }

  private void failed(Failure failure) {
    if (!closed) {
      failing = true;
      try {
        listener.failed(failure);
      } catch (RuntimeException | Error busy) {
        LOG.warn("{}, which could not be passed on: {}", failure.reason(), message(busy));
      }
    }
  }

  /** Lists the objects where that is due, and watches them until they have to be listed again or the watch ends. */
  private void follow(KubernetesApi api) throws IOException, InterruptedException {
    ObjectSelection followed = selection;
    if (followed == null || version.isEmpty() || untilList().compareTo(Duration.ofSeconds(1)) < 0) {
      followed = list(api);
    }
    Duration length = untilList();
    try (InputStream watch = api.watch(followed, version, length)) {
      if (failing) {
        update(followed);
      }
      Thread guard = closeLater(watch, length.plus(GRACE));
      try (BufferedReader lines = new BufferedReader(new InputStreamReader(watch, StandardCharsets.UTF_8))) {
        read(lines, followed);
      } finally {
        guard.interrupt();
      }
    }
  }

  private Duration untilList() {
    return pace.relist.minusNanos(System.nanoTime() - listedAt);
  }

  private ObjectSelection list(KubernetesApi api) throws IOException, InterruptedException {
    for (int i = 0; ; i++) {
      ObjectSelection candidate = alternatives.get(i);
      try {
        take(candidate, api.list(candidate));
        return candidate;
      } catch (KubernetesApiException refused) {
        if (!refused.isMissing() || i + 1 == alternatives.size()) {
          throw refused;
        }
      }
    }
  }

  private void take(ObjectSelection listed, ObjectList list) {
    selection = listed;
    listedAt = System.nanoTime();
    objects.clear();
    list.objects().forEach(this::put);
    version = list.resourceVersion();
    update(listed);
  }

  private void read(BufferedReader lines, ObjectSelection followed) throws IOException {
    boolean changed = false;
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      pause = pace.pause;
      changed |= apply(JSON.readTree(line));
      // Changes that are already there are passed on together.
      if (changed && !lines.ready()) {
        update(followed);
        changed = false;
      }
    }
    if (changed) {
      update(followed);
    }
  }

  /** Returns whether the objects have changed. */
  private boolean apply(JsonNode event) throws KubernetesApiException {
    JsonNode object = event.path("object");
    boolean changed =
        switch (event.path("type").asText()) {
          case "ADDED", "MODIFIED" -> {
            put(object);
            yield true;
          }
          case "DELETED" -> {
            objects.remove(ObjectKey.of(object));
            yield true;
          }
          case "ERROR" -> {
            version = "";
            throw new KubernetesApiException(
                object.path("code").asInt(),
                "the watch of the Kubernetes API ended: " + object.path("message").asText());
          }
          default -> false;
        };
    version = object.at("/metadata/resourceVersion").asText(version);
    return changed;
  }

  private void put(JsonNode object) {
    if (object.path("metadata") instanceof ObjectNode metadata) {
      // Who set which field: often half of an object.
      metadata.remove("managedFields");
    }
    objects.put(ObjectKey.of(object), object);
  }

  private void update(ObjectSelection followed) {
    failing = false;
    listener.updated(followed, Collections.unmodifiableMap(new TreeMap<>(objects)));
  }

  /** Closes a watch whose connection has broken silently: nothing else would ever end the read from it. */
  private static Thread closeLater(InputStream watch, Duration when) {
    return Thread.ofVirtual().name("kvasir-watch-guard").start(() -> {
      try {
        Thread.sleep(when);
        watch.close();
      } catch (InterruptedException inTime) {
        LOG.trace("the watch ended in time");
      } catch (IOException e) {
        LOG.debug("closing a watch", e);
      }
    });
  }
}

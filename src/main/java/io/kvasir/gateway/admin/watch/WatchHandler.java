package io.kvasir.gateway.admin.watch;

import io.kvasir.gateway.admin.AdminAnswer;
import io.kvasir.gateway.admin.AdminException;
import io.kvasir.gateway.admin.AdminRequest;
import io.kvasir.gateway.admin.AdminResource;
import io.kvasir.gateway.admin.AdminRoute;
import io.kvasir.gateway.admin.AdminStream;
import io.kvasir.http.ByteSink;
import io.kvasir.http.Headers;
import java.io.IOException;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.BooleanSupplier;

/**
 * {@code /admin/watch}: a stream of server-sent events, for each topic in {@code topics} first {@code {"full": STATE}},
 * then each second {@code {"patch": PATCH}}, a JSON merge patch (RFC 7396), while something changes. Thread-safe.
 */
public final class WatchHandler implements AdminResource {
  private static final Headers STREAM =
      Headers.of("Content-Type", "text/event-stream", "Cache-Control", "no-store", "X-Accel-Buffering", "no");

  private final TopicPublisher publisher;

  /** Over a publisher, which stays its owner's to close. */
  public WatchHandler(TopicPublisher publisher) {
    this.publisher = publisher;
  }

  @Override
  public List<AdminRoute> routes() {
    return List.of(AdminRoute.get("/admin/watch", this::watch).with("topics"));
  }

  private AdminAnswer watch(AdminRequest request) throws AdminException {
    Set<String> topics = topics(request);
    if (!publisher.hasRoom()) {
      throw AdminException.of(
          503,
          "%d streams are being watched, or the node is stopping; close one, or ask GET %s once in a while".formatted(
              TopicPublisher.MAX_WATCHERS, "/admin/vitals"));
    }
    return new AdminStream(STREAM, (sink, allowed) -> stream(topics, sink, allowed));
  }

  private void stream(Set<String> topics, ByteSink sink, BooleanSupplier allowed) throws IOException {
    Watcher watcher = publisher.join(topics);
    if (watcher == null) {
      return;
    }
    try {
      watcher.writeTo(sink, allowed);
    } finally {
      publisher.leave(watcher);
    }
  }

  private Set<String> topics(AdminRequest request) throws AdminException {
    String topics = request.parameter("topics");
    Set<String> asked = topics == null ? Set.of() : new LinkedHashSet<>(List.of(topics.split(",", -1)));
    if (asked.isEmpty() || !publisher.names().containsAll(asked)) {
      throw AdminException.invalid(
          "topics",
          "topics has to name what to watch, separated by commas: some of %s, not '%s'".formatted(
              String.join(",", publisher.names()), topics == null ? "" : topics));
    }
    return asked;
  }
}

package io.kvasir.app.config;

import com.fasterxml.jackson.databind.JsonNode;
import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import io.kvasir.events.EventFeed;
import io.kvasir.events.SnapshotFormat;
import io.kvasir.events.ZmqEndpoints;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/** Reads the event feeds of a pod, from configuration files and from the admin API. */
final class EventFeedReader {
  private enum FeedType { ZMQ, PUSH, NATS, REDIS, TENSORRT, GRPC }

  private final Config defaults;

  /** Reads over {@code kvasir.events-defaults}. */
  EventFeedReader(Config defaults) {
    this.defaults = defaults;
  }

  /** The feeds in a request to the admin API; faults are reported by their path. */
  List<EventFeed> read(JsonNode events, int ranks, BiConsumer<String, String> onFault) {
    List<ConfigFault> faults = new ArrayList<>();
    Config config = AdminJsonConfig.configuration("events", events, faults);
    List<EventFeed> feeds = read(new ConfigSection(config, "", faults), "events", ranks);
    AdminJsonConfig.report(faults, onFault);
    return feeds;
  }

  /** The section, or the list of them, that stands under {@code key}. */
  List<EventFeed> read(ConfigSection pod, String key, int ranks) {
    List<EventFeed> feeds = new ArrayList<>();
    Set<FeedType> alone = EnumSet.noneOf(FeedType.class);
    for (ConfigSection section : pod.oneOrMore(key)) {
      FeedType kind = section.has("source") ? section.choice("source", FeedType.class) : FeedType.ZMQ;
      if ((kind == FeedType.PUSH || kind == FeedType.TENSORRT) && !alone.add(kind)) {
        section.fault("source", "is there twice; a pod can have one of it");
      }
      feeds.add(feed(kind, section, ranks));
    }
    return feeds;
  }

  private EventFeed feed(FeedType kind, ConfigSection given, int ranks) {
    ConfigSection section = given.withFallback(defaults.getConfig(kind.name().toLowerCase(Locale.ROOT)));
    section.has("source");
    EventFeed feed =
        switch (kind) {
          case ZMQ -> zmq(section, given.has("snapshot"), ranks);
          case PUSH -> push(section);
          case NATS -> nats(section, ranks);
          case REDIS -> new EventFeed.Redis(section.redis("url"), pattern(section, "stream", ranks));
          case GRPC -> new EventFeed.Grpc(address(section), section.flag("tls"));
          case TENSORRT ->
              new EventFeed.TensorRt(
                  section.has("url") ? section.url("url") : null, section.duration("interval"));
        };
    section.rejectUnread();
    return feed;
  }

  private static EventFeed zmq(ConfigSection section, boolean ownSnapshot, int ranks) {
    String endpoint = section.zmq("endpoint");
    String replay = section.zmq("replay");
    SnapshotFormat snapshot = section.choice("snapshot", SnapshotFormat.class);
    String snapshots = section.has("snapshot-endpoint") ? section.zmq("snapshot-endpoint") : "";
    List<EventFeed.RankSockets> otherRanks = otherRanks(section);
    String missing = missingEndpoints(snapshot, replay, snapshots, otherRanks);
    if (missing != null) {
      if (ownSnapshot) {
        section.fault("snapshot", missing);
      }
      // Set for all pods it is for those that have the endpoint.
      snapshot = SnapshotFormat.NONE;
    }
    EventFeed.Zmq zmq =
        new EventFeed.Zmq(
            endpoint, emptyIsNone(replay), section.text("topic"), section.flag("bind"),
            section.flag("plain-only"), section.flag("once-computed"), otherRanks, snapshot,
            emptyIsNone(snapshots));
    if (!zmq.otherRanks().isEmpty() && (zmq.bind() || zmq.otherRanks().size() != ranks - 1)) {
      section.fault("other-ranks", zmq.bind()
          ? "is for engines that the router connects to; where it binds, ranks dial one endpoint or count up from it"
          : "names %d ranks besides the first, and the pod has %d: name each".formatted(
              zmq.otherRanks().size(), ranks - 1));
    } else if (!endpoint.isEmpty()) {
      try {
        for (int rank = 0; rank < ranks; rank++) {
          ZmqEndpoints _ = zmq.ofRank(rank);
        }
      } catch (IllegalArgumentException wrong) {
        section.fault("endpoint", String.valueOf(wrong.getMessage()));
      }
    }
    return zmq;
  }

  /** What a pod lacks of the endpoints at which snapshots are asked for; null when it lacks nothing. */
  private static @Nullable String missingEndpoints(
      SnapshotFormat snapshot, String replay, String snapshots, List<EventFeed.RankSockets> otherRanks) {
    boolean replayed = !replay.isEmpty() && otherRanks.stream().allMatch(rank -> rank.replay() != null);
    boolean own = !snapshots.isEmpty() && otherRanks.stream().allMatch(rank -> rank.snapshotEndpoint() != null);
    return switch (snapshot) {
      case NONE -> null;
      case VLLM_50134 -> replayed
          ? null
          : "is asked for at the replay endpoint: name replay, of every rank, or set none";
      case VLLM_57789 -> replayed && own
          ? null
          : "is asked for at an endpoint of its own, and gaps at that of the replay: name snapshot-endpoint and replay,"
              + " of every rank, or set none";
    };
  }

  private static List<EventFeed.RankSockets> otherRanks(ConfigSection section) {
    List<EventFeed.RankSockets> ranks = new ArrayList<>();
    for (ConfigSection rank : section.sections("other-ranks", ConfigFactory.empty())) {
      String replay = rank.has("replay") ? rank.zmq("replay") : "";
      String snapshots = rank.has("snapshot-endpoint") ? rank.zmq("snapshot-endpoint") : "";
      ranks.add(
          new EventFeed.RankSockets(
              rank.zmq("endpoint"), emptyIsNone(replay), emptyIsNone(snapshots)));
      rank.rejectUnread();
    }
    return ranks;
  }

  private static EventFeed push(ConfigSection section) {
    String key = emptyIsNone(section.text("key"));
    boolean insecure = section.flag("insecure");
    if (key == null && !insecure) {
      section.fault(
          "key",
          "is missing: give the key that pushes have to carry, or set insecure = true to take events from anybody");
    }
    return new EventFeed.Push(key);
  }

  private static EventFeed nats(ConfigSection section, int ranks) {
    String servers = section.name("servers");
    for (String server : servers.split(",", -1)) {
      if (!servers.isEmpty() && !server.strip().matches("(nats|tls|ws|wss)://\\S+")) {
        section.fault("servers", "has to be an address such as nats://10.0.0.9:4222, not '" + server.strip() + "'");
      }
    }
    String subject = pattern(section, "subject", ranks);
    if (subject.matches(".*(\\s|\\*|>).*")) {
      section.fault("subject", "has to be one worker's subject, without blanks, * and >, not '" + subject + "'");
    }
    String credentials = emptyIsNone(section.text("credentials"));
    return new EventFeed.Nats(servers, section.text("stream"), subject, section.duration("history"), credentials);
  }

  private static String address(ConfigSection section) {
    String address = section.name("address");
    if (!address.isEmpty() && !address.matches("\\S+:\\d{1,5}")) {
      section.fault("address", "has to be host:port, not '" + address + "'");
    }
    return address;
  }

  /** A text that names each rank's own. */
  private static String pattern(ConfigSection section, String key, int ranks) {
    String pattern = section.name(key);
    if (ranks > 1 && !pattern.contains("{rank}") && !pattern.contains("{worker}")) {
      section.fault(key, "has to hold {rank} or {worker}: each of the pod's " + ranks + " ranks has its own events");
    }
    return pattern;
  }

  private static @Nullable String emptyIsNone(String text) {
    return text.isBlank() ? null : text;
  }
}

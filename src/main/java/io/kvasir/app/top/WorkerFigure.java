package io.kvasir.app.top;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** A figure about a worker that the heat map can show and the list can be sorted by. */
enum WorkerFigure {
  /** Requests that the router has sent it and that have not ended. */
  IN_FLIGHT('f', "FLIGHT", Kind.COUNT, 4),
  /** Prompt tokens that it has yet to read. */
  PENDING('p', "PENDING", Kind.COUNT, 4096),
  /** Requests that the engine says are waiting. */
  WAITING('w', "WAITING", Kind.COUNT, 4),
  /** How much of its cache is filled with blocks that the index knows. */
  CACHE('c', "CACHE", Kind.SHARE, 1),
  /** How much of its KV memory the engine says running requests use. */
  KV('k', "KV", Kind.SHARE, 1),
  /** How far its cache's events are behind, in milliseconds. */
  LAG('e', "LAG ms", Kind.COUNT, 1000),
  /** How many of the promises of cached tokens the engine has not kept. */
  BROKEN('b', "BROKEN", Kind.SHARE, 1),
  /** How far the index is trusted to be what the worker holds; less is worse. */
  TRUST('t', "TRUST", Kind.SHARE, 1);

  /** The degrees of heat, 0 to this. */
  static final int HOTTEST = 4;

  private enum Kind { COUNT, SHARE }

  private final char key;
  private final String heading;
  private final Kind kind;
  private final double noticeable;

  WorkerFigure(char key, String heading, Kind kind, double noticeable) {
    this.key = key;
    this.heading = heading;
    this.kind = kind;
    this.noticeable = noticeable;
  }

  /** The key that chooses it. */
  char key() {
    return key;
  }

  String heading() {
    return heading;
  }

  /** The figure that a key chooses. */
  static Optional<WorkerFigure> of(int key) {
    return Arrays.stream(values()).filter(figure -> figure.key == key).findFirst();
  }

  /** Its value for a worker, NaN where that is not known. */
  double of(JsonNode worker) {
    return switch (this) {
      case IN_FLIGHT -> number(worker.path("in_flight"));
      case PENDING -> number(worker.path("pending_tokens"));
      case WAITING -> number(worker.at("/engine_reports/waiting"));
      case CACHE -> number(worker.path("cache_fill"));
      case KV -> number(worker.at("/engine_reports/kv_use"));
      case LAG -> number(worker.path("event_lag_ms"));
      case BROKEN -> broken(worker.path("promises"));
      case TRUST -> number(worker.path("trust"));
    };
  }

  /** The value as people read it; nothing where it is not known. */
  String text(JsonNode worker) {
    double value = of(worker);
    return Double.isNaN(value) ? "" : kind == Kind.SHARE ? Math.round(100 * value) + " %" : Amount.of(value);
  }

  /** How much attention a value wants: the more the hotter, and 0 where it is not known. */
  double heat(JsonNode worker) {
    double value = of(worker);
    return Double.isNaN(value) ? 0 : this == TRUST ? 1 - value : value;
  }

  /** The heat that is the scale's end among these workers: small counts do not glow only because others are smaller. */
  double scale(List<JsonNode> workers) {
    return kind == Kind.SHARE ? 1 : Math.max(noticeable, workers.stream().mapToDouble(this::heat).max().orElse(0));
  }

  /** A worker's degree of heat, 0 to {@link #HOTTEST}; 0 is for no heat at all. */
  int degree(JsonNode worker, double scale) {
    return (int) Math.ceil(Math.clamp(heat(worker) / scale, 0, 1) * HOTTEST);
  }

  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  private static double broken(JsonNode promises) {
    double kept = number(promises.path("kept"));
    double broken = number(promises.path("broken"));
    return kept + broken == 0 ? Double.NaN : broken / (kept + broken);
  }

  private static double number(JsonNode value) {
    return value.isNumber() ? value.doubleValue() : Double.NaN;
  }
}

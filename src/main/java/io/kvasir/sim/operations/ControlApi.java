package io.kvasir.sim.operations;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.sim.json.EngineApiException;
import io.kvasir.sim.json.RequestBody;
import io.kvasir.sim.settings.EngineCondition;
import io.kvasir.sim.settings.InjectedFault;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The paths that make a running engine misbehave, {@code /sim/…}; no real engine has them. Faults and conditions last
 * until they are withdrawn or, with {@code "ms"}, for that long; what is set anew has the new end, and no earlier one.
 */
public final class ControlApi implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(ControlApi.class);
  private static final ObjectMapper JSON = new ObjectMapper();
  /** Time for the answer to be sent before the engine crashes. */
  private static final long CRASH_DELAY_MS = 20;

  private static final String MS = "ms";
  private static final String FAULTS = "faults";

  private final EngineControls engine;
  private final ScheduledThreadPoolExecutor timer =
      new ScheduledThreadPoolExecutor(1, Thread.ofPlatform().daemon().name("sim-controls").factory());

  /** What is to end by itself: conditions and the faults, each with the end that counts. Guarded by this. */
  private final Map<Object, Future<?>> ends = new HashMap<>();

  /** The paths of an engine that is controlled. */
  public ControlApi(EngineControls engine) {
    this.engine = engine;
    timer.setRemoveOnCancelPolicy(true);
    timer.setKeepAliveTime(1, TimeUnit.SECONDS);
    timer.allowCoreThreadTimeOut(true);
  }

  /** {@code GET /sim}: what is wrong with the engine now, and what it does. */
  ObjectNode state() {
    ObjectNode state = JSON.createObjectNode();
    state.set("conditions", JSON.valueToTree(engine.conditions().stream().map(EngineCondition::toString).toList()));
    state.set("stats", JSON.valueToTree(engine.stats()));
    state.set("transfers", JSON.valueToTree(engine.transferStats()));
    return state;
  }

  /**
   * {@code POST /sim/faults {"faults":["503=0.1"],"ms":1000}}, {@code /sim/conditions {"wedge":true,"ms":1000}},
   * {@code /sim/crash {"ms":1000}}.
   *
   * @throws EngineApiException when there is no such path or the body makes no sense
   */
  synchronized ObjectNode post(String path, RequestBody body) throws EngineApiException {
    switch (path) {
      case "/sim/faults" -> {
        rejectOthers(body, List.of(FAULTS));
        Integer ms = milliseconds(body);
        engine.setFaults(faults(body));
        endAfter(FAULTS, ms, () -> engine.setFaults(List.of()));
      }
      case "/sim/conditions" -> setConditions(body);
      case "/sim/crash" -> {
        rejectOthers(body, List.of());
        Integer ms = milliseconds(body);
        var _ = schedule(CRASH_DELAY_MS, engine::crash);
        var _ = schedule(CRASH_DELAY_MS + (ms == null ? 0 : ms), engine::restart);
      }
      default -> throw EngineApiException.noRoute();
    }
    return state();
  }

  private void setConditions(RequestBody body) throws EngineApiException {
    EngineCondition[] known = EngineCondition.values();
    rejectOthers(body, Arrays.stream(known).map(EngineCondition::toString).toList());
    Integer ms = milliseconds(body);
    Map<EngineCondition, Boolean> given = new EnumMap<>(EngineCondition.class);
    for (EngineCondition condition : known) {
      JsonNode on = body.get(condition.toString());
      if (on != null && !on.isBoolean()) {
        throw body.invalid("bool_type", condition.toString(), "Input should be a valid boolean");
      }
      if (on != null) {
        given.put(condition, on.booleanValue());
      }
    }
    for (Map.Entry<EngineCondition, Boolean> each : given.entrySet()) {
      set(each.getKey(), each.getValue());
      endAfter(each.getKey(), ms, () -> set(each.getKey(), false));
    }
  }

  /** What is misspelt does not do nothing in silence. */
  private static void rejectOthers(RequestBody body, List<String> known) throws EngineApiException {
    for (Map.Entry<String, JsonNode> member : body.json().properties()) {
      if (!known.contains(member.getKey()) && !member.getKey().equals(MS)) {
        String others = known.isEmpty() ? "" : ", " + String.join(", ", known);
        throw EngineApiException.badRequest(
            "there is no '" + member.getKey() + "' here, only " + MS + others, member.getKey());
      }
    }
  }

  private static @Nullable Integer milliseconds(RequestBody body) throws EngineApiException {
    Integer ms = body.integer(MS);
    if (ms != null && ms < 0) {
      throw EngineApiException.badRequest("ms: must be 0 or more, is " + ms, MS);
    }
    return ms;
  }

  @Override
  public void close() {
    timer.shutdownNow();
  }

  private static List<InjectedFault> faults(RequestBody body) throws EngineApiException {
    List<InjectedFault> faults = new ArrayList<>();
    JsonNode list = body.get(FAULTS);
    if (list == null || !list.isArray()) {
      throw EngineApiException.missing(FAULTS);
    }
    for (JsonNode one : list) {
      try {
        faults.add(InjectedFault.parse(one.asText()));
      } catch (IllegalArgumentException wrong) {
        throw EngineApiException.badRequest(String.valueOf(wrong.getMessage()), FAULTS);
      }
    }
    return faults;
  }

  private void set(EngineCondition condition, boolean on) throws EngineApiException {
    try {
      engine.setCondition(condition, on);
    } catch (IOException taken) {
      throw EngineApiException.of(500, condition + ": " + taken.getMessage());
    }
  }

  /** An action that may fail. */
  private interface FailableAction {
    void run() throws IOException, EngineApiException;
  }

  /** Ends what was set after a time, null for never, and not at an earlier end that it had. */
  private void endAfter(Object what, @Nullable Integer ms, FailableAction end) {
    Future<?> before = ends.remove(what);
    if (before != null) {
      before.cancel(false);
    }
    if (ms != null) {
      AtomicReference<Future<?>> own = new AtomicReference<>();
      own.set(schedule(ms, () -> end(what, own, end)));
      ends.put(what, own.get());
    }
  }

  /** An end that has been replaced while it waited for the lock does nothing. */
  private synchronized void end(Object what, AtomicReference<Future<?>> own, FailableAction end)
      throws IOException, EngineApiException {
    if (ends.remove(what, own.get())) {
      end.run();
    }
  }

  private Future<?> schedule(long ms, FailableAction action) {
    return timer.schedule(
        () -> {
          try {
            action.run();
          } catch (IOException | EngineApiException e) {
            LOG.error("A scheduled change of the engine failed", e);
          }
        },
        ms,
        TimeUnit.MILLISECONDS);
  }
}

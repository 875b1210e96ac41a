package io.kvasir.sim;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The paths that make a running engine misbehave, {@code /sim/…}; no real engine has them. Faults and conditions last
 * until they are withdrawn or, with {@code "ms"}, for that long.
 */
final class ControlApi implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(ControlApi.class);
  private static final ObjectMapper JSON = new ObjectMapper();
  /** Time for the answer to be sent before the engine crashes. */
  private static final long CRASH_DELAY_MS = 20;

  private final EngineControls engine;
  private final ScheduledThreadPoolExecutor timer =
      new ScheduledThreadPoolExecutor(1, Thread.ofPlatform().daemon().name("sim-controls").factory());

  ControlApi(EngineControls engine) {
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
  ObjectNode post(String path, RequestBody body) throws EngineApiException {
    Integer ms = body.integer("ms");
    switch (path) {
      case "/sim/faults" -> {
        engine.setFaults(faults(body));
        if (ms != null) {
          schedule(ms, () -> engine.setFaults(List.of()));
        }
      }
      case "/sim/conditions" -> {
        for (EngineCondition condition : EngineCondition.values()) {
          if (body.get(condition.toString()) != null) {
            set(condition, body.flag(condition.toString()));
            if (ms != null) {
              schedule(ms, () -> set(condition, false));
            }
          }
        }
      }
      case "/sim/crash" -> {
        schedule(CRASH_DELAY_MS, engine::crash);
        schedule(CRASH_DELAY_MS + (ms == null ? 0 : ms), engine::restart);
      }
      default -> throw EngineApiException.notFound("Not Found", null);
    }
    return state();
  }

  @Override
  public void close() {
    timer.shutdownNow();
  }

  private static List<InjectedFault> faults(RequestBody body) throws EngineApiException {
    List<InjectedFault> faults = new ArrayList<>();
    JsonNode list = body.get("faults");
    if (list == null || !list.isArray()) {
      throw EngineApiException.missing("faults");
    }
    for (JsonNode one : list) {
      try {
        faults.add(InjectedFault.parse(one.asText()));
      } catch (IllegalArgumentException wrong) {
        throw EngineApiException.badRequest(String.valueOf(wrong.getMessage()), "faults");
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

  private void schedule(long ms, FailableAction action) {
    var _ = timer.schedule(
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

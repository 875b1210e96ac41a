package io.kvasir.app.top;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;

/** Fleets as the admin API tells of them. */
final class Fleets {
  private static final ObjectMapper JSON = new ObjectMapper();

  private Fleets() {}

  /** A fleet whose worker i has i requests in flight, in four cells, with two problems. */
  static FleetSnapshot of(int workers) {
    List<JsonNode> list = new ArrayList<>();
    for (int i = 0; i < workers; i++) {
      list.add(worker("vllm-%d/0".formatted(i), "cell-" + i % 4, i));
    }
    return new FleetSnapshot(vitals(), list);
  }

  static ObjectNode vitals() {
    return (ObjectNode)
        json(
            """
            {"time":"2026-11-22T23:00:00Z","node":"10.0.0.5:7355","version":"1.2.3","scope":"node","window_s":10,
             "requests_per_s":1234.5,"errors_per_s":0,"refusals_per_s":0.2,"events_per_s":12345,
             "ttft_ms":{"p50":123.4,"p90":null},"in_flight":345,"waiting":0,
             "tokens":{"prompt_per_s":1230000,"ever":0.82,"best":0.7,"promised":0.63,"delivered":0.61},"regret":0.12,
             "nodes":{"up":2,"known":3},"workers":{"healthy":7,"known":8,"draining":1},
             "sources":{"live":7,"silent":1,"known":8},
             "problems":[
               {"severity":"error","what":"node 10.0.0.7:7355 is unreachable","remedy":"look whether it runs"},
               {"severity":"warning","what":"worker vllm-3/0 is silent","remedy":"look at its --kv-events-config"}]}
            """);
  }

  static ObjectNode worker(String id, String cell, int inFlight) {
    ObjectNode worker =
        (ObjectNode)
            json(
                """
                {"pod":"vllm","role":"both","models":["m"],"max_in_flight":64,"health":"healthy","why":"",
                 "draining":false,"drained":false,"suspect":false,"pending_tokens":0,"trust":1.0,
                 "cache_fill":0.5,"event_lag_ms":null,"promises":{"kept":9,"broken":1},
                 "engine_reports":{"running":1,"waiting":0,"kv_use":0.25}}
                """);
    return worker.put("id", id).put("cell", cell).put("in_flight", inFlight);
  }

  private static JsonNode json(String text) {
    try {
      return JSON.readTree(text);
    } catch (JsonProcessingException impossible) {
      throw new IllegalArgumentException(impossible);
    }
  }
}

package io.kvasir.app.top;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.app.admin.AdminClient;
import io.kvasir.app.admin.AdminFailedException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * A router's vital figures and its workers at one moment, as the admin API has them. Immutable as long as nobody
 * changes the JSON.
 *
 * @param vitals the answer of {@code /admin/vitals}
 * @param workers the workers of {@code /admin/workers}
 */
record FleetSnapshot(JsonNode vitals, List<JsonNode> workers) {
  private static final String VITALS = "vitals";
  private static final String WORKERS = "workers";
  private static final ObjectNode NOTHING = JsonNodeFactory.instance.objectNode();

  /** Asks a router. */
  static FleetSnapshot of(AdminClient client) throws AdminFailedException, InterruptedException {
    JsonNode workers = client.get("/admin/workers");
    return of(client.get("/admin/vitals"), workers);
  }

  /** Follows a router's stream, until it ends; each snapshot is given as it comes. */
  static void follow(AdminClient client, Consumer<FleetSnapshot> snapshots)
      throws AdminFailedException, InterruptedException {
    client.watch(
        List.of(VITALS, WORKERS),
        topics ->
            snapshots.accept(
                of(topics.getOrDefault(VITALS, NOTHING), topics.getOrDefault(WORKERS, NOTHING))));
  }

  /** Of answers in which workers are a list, or, where they are watched, an object by their names. */
  private static FleetSnapshot of(JsonNode vitals, JsonNode workers) {
    List<JsonNode> list = new ArrayList<>();
    workers.path(WORKERS).forEach(list::add);
    return new FleetSnapshot(vitals, list);
  }

  /** {@code {"vitals": {…}, "workers": […]}}. */
  JsonNode json() {
    ObjectNode json = JsonNodeFactory.instance.objectNode();
    json.set(VITALS, vitals);
    json.putArray(WORKERS).addAll(workers);
    return json;
  }
}

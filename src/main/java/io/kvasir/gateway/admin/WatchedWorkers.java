package io.kvasir.gateway.admin;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.cell.WorkerStatus;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The JSON of workers as they are watched: that of a worker which is as it was last time is the same object. Keeps some
 * 3 KB a worker. Thread-safe.
 */
final class WatchedWorkers {
  private Map<String, Known> last = Map.of();

  private record Known(WorkerStatus status, ObjectNode json) {}

  /** {@code {"workers": [...]}}. */
  synchronized ObjectNode read(List<WorkerStatus> workers) {
    Map<String, Known> read = HashMap.newHashMap(workers.size());
    ObjectNode body = JsonNodeFactory.instance.objectNode();
    ArrayNode list = body.putArray("workers");
    for (WorkerStatus status : workers) {
      Known before = last.get(status.worker().id());
      Known now = before != null && before.status.equals(status) ? before : new Known(status, FleetJson.worker(status));
      read.put(status.worker().id(), now);
      list.add(now.json);
    }
    last = read;
    return body;
  }
}

package io.kvasir.gateway.admin;

import static io.kvasir.gateway.admin.AdminResponse.object;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** {@code /admin/demo}: the switch of the demo's own traffic; elsewhere there is none. Thread-safe. */
public final class DemoHandler implements AdminResource {
  private static final String PATH = "/admin/demo";
  private static final double MOST_PER_SECOND = 50;
  private static final String WANTED = "send {\"running\": true, \"rate\": 5}";

  private volatile @Nullable Traffic traffic;

  /** Traffic that can be switched. Thread-safe. */
  public interface Traffic {
    /** Whether requests are sent. */
    boolean running();

    /** How many a second while it runs. */
    double rate();

    /** Starts or stops it, or changes how much it is. */
    void change(boolean running, double rate);
  }

  /** Has this traffic switched. */
  public void offer(Traffic demo) {
    traffic = demo;
  }

  /** Whether there is traffic to be switched. */
  boolean isOffered() {
    return traffic != null;
  }

  @Override
  public List<AdminRoute> routes() {
    return List.of(
        AdminRoute.get(PATH, _ -> AdminResponse.ok(shown(offered()))), AdminRoute.post(PATH, this::change));
  }

  private AdminResponse change(AdminRequest request) throws AdminException {
    Traffic demo = offered();
    ObjectNode body = request.body(WANTED);
    for (String field : (Iterable<String>) body::fieldNames) {
      if (!Set.of("running", "rate").contains(field)) {
        throw AdminException.invalid(field, "there is no field '" + field + "' here; " + WANTED);
      }
    }
    JsonNode running = body.path("running");
    JsonNode rate = body.path("rate");
    if (!running.isMissingNode() && !running.isBoolean()) {
      throw AdminException.invalid("running", "running has to be true or false");
    }
    if (!rate.isMissingNode()
        && !(rate.isNumber() && rate.doubleValue() > 0 && rate.doubleValue() <= MOST_PER_SECOND)) {
      throw AdminException.invalid("rate", "rate has to be a number above 0, of up to %.0f a second".formatted(
          MOST_PER_SECOND));
    }
    demo.change(running.asBoolean(demo.running()), rate.asDouble(demo.rate()));
    return AdminResponse.ok(shown(demo));
  }

  private Traffic offered() throws AdminException {
    Traffic demo = traffic;
    if (demo == null) {
      throw AdminException.of(404, "this is no demo: only kvasir demo has traffic of its own to be switched");
    }
    return demo;
  }

  private static ObjectNode shown(Traffic demo) {
    return object().put("running", demo.running()).put("rate", demo.rate());
  }
}

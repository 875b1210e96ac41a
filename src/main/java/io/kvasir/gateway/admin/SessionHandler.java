package io.kvasir.gateway.admin;

import static io.kvasir.gateway.admin.AdminResponse.object;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.gateway.admin.AdminKeys.Administrator;
import java.util.List;

/**
 * {@code /admin/session}: whose key a request came with and what it may do, and whether this is the demo, so that a
 * page shows no button that would be refused, and asks for nothing that is not there. Thread-safe.
 */
public final class SessionHandler implements AdminResource {
  private final DemoHandler demo;

  /**
   * Of a node.
   *
   * @param demo the switch of its traffic, if it has any
   */
  public SessionHandler(DemoHandler demo) {
    this.demo = demo;
  }

  @Override
  public List<AdminRoute> routes() {
    return List.of(AdminRoute.get("/admin/session", request -> AdminResponse.ok(shown(request.administrator()))));
  }

  private ObjectNode shown(Administrator administrator) {
    return object()
        .put("principal", administrator.id())
        .put("role", administrator.role().label())
        .put("demo", demo.isOffered());
  }
}

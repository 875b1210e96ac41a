package io.kvasir.gateway.admin;

import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.List;

/** {@code /admin/openapi.json}: the OpenAPI document that describes the admin API, itself included. Thread-safe. */
public final class OpenApiHandler implements AdminResource {
  private static final String DOCUMENT = "openapi.json";

  @Override
  public List<AdminRoute> routes() {
    return List.of(AdminRoute.get("/admin/openapi.json", _ -> AdminResponse.ok(document())));
  }

  /** The OpenAPI document, read from the class path at each call. */
  static ObjectNode document() {
    try (InputStream in = OpenApiHandler.class.getResourceAsStream(DOCUMENT)) {
      if (in == null) {
        throw new IllegalStateException(DOCUMENT + " is not beside its reader");
      }
      return (ObjectNode) new JsonMapper().readTree(in);
    } catch (IOException unreadable) {
      throw new UncheckedIOException(unreadable);
    }
  }
}

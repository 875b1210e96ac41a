package io.kvasir.gateway.admin;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;

/**
 * The admin API's answer to a request that it has carried out.
 *
 * @param status 200, 201 or 202
 * @param body not to be changed any more
 */
public record AdminResponse(int status, ObjectNode body) implements AdminAnswer {
  /** An answer with status 200. */
  public static AdminResponse ok(ObjectNode body) {
    return new AdminResponse(200, body);
  }

  /** An object to be filled. */
  public static ObjectNode object() {
    return JsonNodeFactory.instance.objectNode();
  }
}

package io.kvasir.execution.dialect;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.http.ApiPath;

/**
 * How a model's engines read a request to {@code /v1/messages} or {@code /v1/responses}: as the chat completion whose
 * prompt is the same. Thread-safe.
 */
@FunctionalInterface
public interface ChatConversion {
  /**
   * The conversation of a request.
   *
   * @param body not changed
   * @return the members of a chat completion that have it: messages, tools, what its template is given
   * @throws IllegalArgumentException in words for the client, when every engine would refuse the request
   */
  ObjectNode conversation(ApiPath api, String model, ObjectNode body);

  /**
   * A translation of a request to one of these APIs.
   *
   * @throws IllegalArgumentException as above
   */
  default Translation translation(ClientRequest request, String model) {
    return translation(request, model, request.members().tree());
  }

  /**
   * The same.
   *
   * @param body the request's, parsed
   */
  default Translation translation(ClientRequest request, String model, ObjectNode body) {
    return switch (request.api()) {
      case MESSAGES -> new MessagesTranslation(request.members(), conversation(ApiPath.MESSAGES, model, body));
      case RESPONSES -> new ResponsesTranslation(request.members(), conversation(ApiPath.RESPONSES, model, body));
      case null, default -> throw new IllegalArgumentException("no chat is made of requests to " + request.path());
    };
  }
}

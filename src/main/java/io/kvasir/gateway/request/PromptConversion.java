package io.kvasir.gateway.request;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.execution.dialect.ChatConversion;
import io.kvasir.http.ApiPath;
import io.kvasir.prompt.Api;
import io.kvasir.prompt.Prompts;

/** Makes of requests the chats whose prompts are expected of them. */
public final class PromptConversion implements ChatConversion {
  private final Prompts prompts;

  /** A conversion by what is known of the models and their engines. */
  public PromptConversion(Prompts prompts) {
    this.prompts = prompts;
  }

  /** Whether every engine of a model reads a {@code cache_salt} in responses. */
  boolean areResponsesSalted(String model) {
    return prompts.allReadSalt(Api.RESPONSES, model);
  }

  @Override
  public ObjectNode conversation(ApiPath api, String model, ObjectNode body) {
    return prompts.conversation(api == ApiPath.RESPONSES ? Api.RESPONSES : Api.MESSAGES, model, body);
  }
}

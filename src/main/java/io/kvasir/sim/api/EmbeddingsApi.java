package io.kvasir.sim.api;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.sim.core.GenerationRequest;
import io.kvasir.sim.core.RequestDispatcher;
import io.kvasir.sim.core.Usage;
import io.kvasir.sim.http.SimHttpExchange;
import io.kvasir.sim.json.EngineApiException;
import io.kvasir.sim.json.RequestBody;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/**
 * {@code /v1/embeddings}: reads the inputs as any prompt and answers unit vectors that depend on them alone
 * and are the nearer, the more tokens texts have in common.
 */
final class EmbeddingsApi {
  private static final int DIMENSIONS = 384;

  /** Dimensions of a vector that a token affects. */
  private static final int PLACES = 8;

  private final RequestDispatcher dispatcher;

  EmbeddingsApi(RequestDispatcher dispatcher) {
    this.dispatcher = dispatcher;
  }

  JsonNode answer(
      SimHttpExchange exchange,
      RequestBody body,
      List<int[]> inputs,
      @Nullable String lora,
      int modelLen,
      String id,
      String model,
      long created)
      throws IOException, EngineApiException {
    Integer requested = body.integer("dimensions");
    int dimensions = requested == null ? DIMENSIONS : requested;
    if (dimensions < 1 || dimensions > 8192) {
      throw EngineApiException.badRequest("dimensions must be 1 to 8192, got " + dimensions + ".", "dimensions");
    }
    String encoding = body.text("encoding_format");
    for (int[] input : inputs) {
      if (input.length > modelLen) {
        throw EngineApiException.badRequest(
            "This model's maximum context length is " + modelLen + " tokens. However, you requested " + input.length
                + " tokens in the input for embedding generation. Please reduce the length of the input.",
            "input");
      }
    }
    GenerationRequest request =
        GenerationRequest.prefill(inputs, new GenerationRequest.CacheScope(lora, body.text("cache_salt")));
    Usage usage = dispatcher.prefillOnly(exchange, request);
    ObjectNode answer = JsonNodeFactory.instance.objectNode();
    answer.put("id", id).put("object", "list").put("created", created).put("model", model);
    ArrayNode data = answer.putArray("data");
    for (int i = 0; i < inputs.size(); i++) {
      ObjectNode one = data.addObject().put("index", i).put("object", "embedding");
      put(one, vector(inputs.get(i), dimensions), "base64".equals(encoding));
    }
    answer.set("usage", usage.json());
    return answer;
  }

  private static void put(ObjectNode one, float[] vector, boolean base64) {
    if (base64) {
      ByteBuffer bytes = ByteBuffer.allocate(vector.length * Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
      for (float value : vector) {
        bytes.putFloat(value);
      }
      one.put("embedding", Base64.getEncoder().encodeToString(bytes.array()));
      return;
    }
    ArrayNode array = one.putArray("embedding");
    for (float value : vector) {
      array.add(value);
    }
  }

  /** Each token adds or takes 1 at some places of its own, so that texts are as near as they have tokens in common. */
  private static float[] vector(int[] tokens, int dimensions) {
    double[] sum = new double[dimensions];
    for (int token : tokens) {
      SplittableRandom places = new SplittableRandom(token);
      for (int i = 0; i < PLACES; i++) {
        sum[places.nextInt(dimensions)] += places.nextBoolean() ? 1 : -1;
      }
    }
    double length = Math.sqrt(Arrays.stream(sum).map(value -> value * value).sum());
    if (length == 0) {
      sum[0] = 1;
      length = 1;
    }
    float[] unit = new float[dimensions];
    for (int i = 0; i < dimensions; i++) {
      unit[i] = (float) (sum[i] / length);
    }
    return unit;
  }
}

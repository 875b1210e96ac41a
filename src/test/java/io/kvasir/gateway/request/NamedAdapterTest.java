package io.kvasir.gateway.request;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.execution.FakeCells;
import io.kvasir.gateway.body.ApiRequest;
import io.kvasir.http.ApiPath;
import java.net.URI;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class NamedAdapterTest {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final URI POD = URI.create("http://127.0.0.1:1");

  private final FakeCells cells = new FakeCells();
  private final NamedAdapter adapters = new NamedAdapter(cells);

  @BeforeEach
  void serve() {
    cells.worker("a", POD, "a:base", "b:sql", "legal");
    cells.worker("c", POD, "other");
  }

  @ParameterizedTest
  @CsvSource({
      "a:base:legal,, legal", "a:base:b:sql,, b:sql", "a:base: legal,, legal", "a:base, legal, legal", ", legal, legal",
      "legal,,", "a:base,,", "b:sql,,", "a:base:none,,", "a:base, none,", "other:legal,,", "other, legal,",
      "none:legal,,", "a:base, other,", "a:base, '',", ",,"
  })
  void adapter_isThatOfTheBase(@Nullable String model, @Nullable String path, @Nullable String adapter) {
    ObjectNode body = JSON.createObjectNode();
    if (path != null) {
      body.put("lora_path", path);
    }
    assertThat(adapters.of(new ApiRequest(model, false, null, body))).isEqualTo(adapter);
  }

  @Test
  void listOfAdapters_isForTheEngine() throws Exception {
    ApiRequest batch = new ApiRequest("a:base", false, null, JSON.readTree("{\"lora_path\": [\"legal\", null]}"));
    assertThat(adapters.of(batch)).isNull();
  }

  @Test
  void adapter_becomesTheModel_whereThereIsOne() throws Exception {
    String body = "{\"model\": \"a:base\", \"lora_path\":\"legal\",\"prompt\": \"x\"}";
    assertThat(JSON.readTree(asModel(ApiPath.CHAT, body)))
        .isEqualTo(JSON.readTree("{\"model\": \"legal\", \"prompt\": \"x\"}"));
    assertThat(asModel(ApiPath.GENERATE, body)).isEqualTo(body);
  }

  private static String asModel(ApiPath api, String body) {
    return new String(NamedAdapter.asModel(api, body.getBytes(UTF_8), "legal"), UTF_8);
  }
}

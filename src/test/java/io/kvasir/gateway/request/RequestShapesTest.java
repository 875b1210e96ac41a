package io.kvasir.gateway.request;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.kvasir.http.ApiPath;
import io.kvasir.routing.RequestShape;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class RequestShapesTest {
  private static final ObjectMapper JSON = new ObjectMapper();

  @ParameterizedTest
  @ValueSource(strings = {
      "{\"prompt\":\"a\"}", "{\"prompt\":[1,2,3]}", "{\"prompt\":[\"a\"]}", "{\"prompt\":\"a\",\"n\":1}",
      "{\"prompt\":\"a\",\"n\":null}"
  })
  void oneAnswerToOnePrompt_isDivisible(String body) throws Exception {
    assertThat(RequestShapes.of(ApiPath.COMPLETIONS, JSON.readTree(body))).isEqualTo(RequestShape.TEXT);
  }

  @ParameterizedTest
  @ValueSource(strings = {
      "{\"prompt\":\"a\",\"n\":2}", "{\"prompt\":\"a\",\"best_of\":3}"
  })
  void severalAnswers_areNot(String body) throws Exception {
    assertThat(RequestShapes.of(ApiPath.COMPLETIONS, JSON.readTree(body))).isEqualTo(RequestShape.INDIVISIBLE);
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', value = {
      "COMPLETIONS | {'prompt':['a','b']}", "COMPLETIONS | {'prompt':[[1],[2]]}", "EMBEDDINGS | {'input':['a','b']}"
  })
  void severalPrompts_areABatch(ApiPath api, String body) throws Exception {
    assertThat(RequestShapes.of(api, JSON.readTree(body.replace('\'', '"')))).isEqualTo(RequestShape.BATCH);
  }

  @Test
  void severalItemsOfOneResponse_areNoBatch() throws Exception {
    String item = "{\"role\":\"user\",\"content\":\"a\"}";
    String body = "{\"input\":[" + item + "," + item + "]}";
    assertThat(RequestShapes.of(ApiPath.RESPONSES, JSON.readTree(body)))
        .isEqualTo(new RequestShape(true, 0, false, true, false));
  }

  @Test
  void mediaOfAllMessages_areCounted() throws Exception {
    String body =
        """
        {"messages":[
          {"role":"system","content":"Look."},
          {"role":"user","content":[{"type":"text","text":"at"},{"type":"image_url","image_url":{"url":"http://a/b"}}]},
          {"role":"assistant","content":null},
          {"role":"user","content":[{"type":"input_audio","input_audio":{"data":"","format":"wav"}},
            {"type":"video_url","video_url":{"url":"http://a/c"}}]}]}""";
    assertThat(RequestShapes.of(ApiPath.CHAT, JSON.readTree(body)))
        .isEqualTo(new RequestShape(true, 3, false, false, false));
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', value = {
      "{'prompt':'a','cache_salt':'s'} | true", "{'prompt':['a','b'],'cache_salt':'s'} | true",
      "{'prompt':'a','cache_salt':''} | false", "{'prompt':'a','cache_salt':null} | false",
      "{'prompt':'a','extra_key':'s'} | true", "{'prompt':'a','extra_key':''} | false"
  })
  void aCacheSalt_isSeen(String body, boolean salted) throws Exception {
    assertThat(RequestShapes.of(ApiPath.COMPLETIONS, JSON.readTree(body.replace('\'', '"'))).salted())
        .isEqualTo(salted);
  }

  @Test
  void whatCarriesNoPrompt_isWhole() throws Exception {
    assertThat(RequestShapes.of(ApiPath.EMBEDDINGS, JSON.readTree("{\"input\":\"a\"}")))
        .isEqualTo(RequestShape.INDIVISIBLE);
    assertThat(RequestShapes.of(ApiPath.OTHER, JSON.readTree("{}"))).isEqualTo(RequestShape.INDIVISIBLE);
    assertThat(RequestShapes.of(ApiPath.CHAT, null)).isEqualTo(RequestShape.INDIVISIBLE);
  }
}

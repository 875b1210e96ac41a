package io.kvasir.gateway.request;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.kvasir.access.Caller;
import io.kvasir.http.ApiPath;
import io.kvasir.http.Headers;
import io.kvasir.routing.RequestFacts.UserTurn;
import java.net.InetAddress;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What users say, in the bodies of each API. */
final class UserTextTest {
  private static final ObjectMapper JSON = new ObjectMapper();

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '~',
      value = {
        // Chat completions: text or parts, tools' results and the assistant in between, messages without a text.
        "{'messages':[{'role':'system','content':'s'},{'role':'user','content':'a'}]} | a | a",
        "{'messages':[{'role':'user','content':'a'},{'role':'assistant','content':'x'},"
            + "{'role':'user','content':'b'},{'role':'tool','content':'t'}]} | a | b",
        "{'messages':[{'role':'user','content':[{'type':'text','text':'a'},{'type':'image_url'},"
            + "{'type':'text','text':'b'}]}]} | a,b | a,b",
        "{'messages':[{'role':'user','content':'a'},{'role':'user','content':[{'type':'image_url'}]},"
            + "{'role':'user','content':' '},{'role':'user'},7]} | a | a",
        // Messages: the results of tools are the user's.
        "{'messages':[{'role':'user','content':'a'},{'role':'user','content':[{'type':'tool_result','content':'t'}]}]}"
            + " | a | a",
        // Responses: a text, or items.
        "{'input':'a'} | a | a",
        "{'input':[{'role':'user','content':'a'},{'type':'function_call_output','output':'t'},"
            + "{'type':'message','role':'user','content':[{'type':'input_text','text':'b'}]}]} | a | b",
        // Completions: a text, several, token ids.
        "{'prompt':'a'} | a | a",
        "{'prompt':['a','b']} | a | a",
      })
  void texts(String body, String first, String last) throws Exception {
    assertThat(text(body, UserTurn.FIRST)).isEqualTo(first.replace(",", "\n"));
    assertThat(text(body, UserTurn.LAST)).isEqualTo(last.replace(",", "\n"));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '~',
      value = {
        "{}", "{'prompt':[1,2]}", "{'prompt':[]}", "{'messages':7}", "{'messages':[]}", "{'input':{}}", "{'input':''}",
        "{'messages':[{'role':'assistant','content':'a'}]}", "{'messages':[{'role':'user','content':{'text':'a'}}]}"
      })
  void noTexts(String body) throws Exception {
    assertThat(text(body, UserTurn.FIRST)).isNull();
    assertThat(text(body, UserTurn.LAST)).isNull();
  }

  /** Else a router that asks itself for embeddings would ask itself what it is about to embed. */
  @Test
  void embeddings_haveNoText() throws Exception {
    assertThat(facts(ApiPath.RESPONSES).userText(UserTurn.LAST)).isEqualTo("a");
    assertThat(facts(ApiPath.EMBEDDINGS).userText(UserTurn.LAST)).isNull();
    assertThat(facts(ApiPath.OTHER).userText(UserTurn.LAST)).isNull();
  }

  private static HttpRequestFacts facts(ApiPath api) throws Exception {
    return new HttpRequestFacts(
        Headers.EMPTY, api, JSON.readTree("{\"input\":\"a\"}"), InetAddress.getLoopbackAddress(),
        Caller.anonymous(true), List.of(), false);
  }

  private static @Nullable String text(String body, UserTurn turn) throws Exception {
    return UserText.in(JSON.readTree(body.replace('\'', '"')), turn);
  }
}

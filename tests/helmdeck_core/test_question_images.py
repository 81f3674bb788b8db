"""Images of a question."""

from helmdeck_core import ImagePart, Pack, Question, TextPart, hookimpl

FREE = "openrouter/openrouter/free"


def test_the_images_of_a_question_stand_behind_its_words(answering):
    picture = ImagePart(media_type="image/png", data=b"png")

    class Looks:
        @hookimpl
        def helmdeck_packs(self):
            return [Pack(name="test.look", version="1", description="x.", run=self.look)]

        async def look(self, context, value):
            wanted = {"instructions": "Look.", "needs_catalog": False, "images": (picture,)}
            answer = await context.ask(Question(caller="test.look", task="look", type=dict, request="what?", **wanted))
            return answer.value

    deck, provider = answering({"a": "cat"}, beside=(Looks(),))
    assert deck.run("test.look", {}, model=FREE) == {"a": "cat"}
    system, user = provider.requests[0].messages
    assert user.parts == (TextPart("what?"), picture) and system.text == "Look."

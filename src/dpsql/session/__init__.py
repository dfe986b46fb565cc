"""WHERE STAGES MEET: one short function from text to answer, and the objects people hold."""

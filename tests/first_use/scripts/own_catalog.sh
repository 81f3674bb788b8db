# A catalog of one's own: check it, correct it, plan with it.
# expect: unknown key 'descripton' (did you mean 'description'?)
# expect: checked: 2
# expect: 1. books.find
cat >books.toml <<END
[[packs]]
name = "books.find"
descripton = "Find books by title, author or subject."
END
helmdeck catalog check books.toml || echo "checked: $?"
sed -i.bak s/descripton/description/ books.toml
helmdeck catalog check books.toml
helmdeck plan --catalog books.toml "find books by author"
